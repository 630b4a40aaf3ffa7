# A module is a folder of htfm/ with one job. Its files are compiled together in a few batches, and CheckUses.cmake refuses an include of a
# module that is not named after USES. Files named *_kernels.cpp are compiled once for each instruction set (htfm/base/dispatch.h chooses at
# run time). *_cuda.cpp and *.cu belong to the CUDA library (Cuda.cmake), *_module.cpp to libraries that are loaded when they are needed.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT HTFM_FUZZ)
  set(HTFM_ISAS base v3 v4)
else()
  set(HTFM_ISAS base) # fuzzers look at what is read, and compile in half the time
endif()
set(HTFM_ISA_FLAGS_v3 -march=x86-64-v3)
set(HTFM_ISA_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)
set(HTFM_BATCH 6 CACHE STRING "Files of a module that are compiled together; 1: each alone, for work on the library")
# Their results are part of every training: the same bits with every instruction set, so no fused multiplications.
set_source_files_properties(${CMAKE_SOURCE_DIR}/htfm/method/coefficient_kernels.cpp ${CMAKE_SOURCE_DIR}/htfm/data/state_kernels.cpp
                            PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

function(htfm_module name)
  cmake_parse_arguments(ARG "" "" "USES;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/htfm/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_(cuda|module)\\.cpp$")
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "_kernels\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_kernels\\.cpp$")
  add_library(htfm_${name} OBJECT ${sources})
  target_link_libraries(htfm_${name} PRIVATE htfm_options torch::cpu ${ARG_LIBS})
  target_precompile_headers(htfm_${name} REUSE_FROM htfm_pch)
  if(HTFM_BATCH GREATER 1)
    set_target_properties(htfm_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HTFM_BATCH})
  endif()
  add_dependencies(htfm_${name} htfm_uses)
  set(objects $<TARGET_OBJECTS:htfm_${name}>)
  list(JOIN ARG_USES " " uses)
  set_property(GLOBAL APPEND PROPERTY HTFM_USES "${name}: ${uses}")
  if(kernels)
    foreach(isa IN LISTS HTFM_ISAS)
      add_library(htfm_${name}_${isa} OBJECT ${kernels})
      target_link_libraries(htfm_${name}_${isa} PRIVATE htfm_options)
      # Kernels see no torch and no precompiled header: a template instantiated there for a newer machine must not leak.
      target_compile_definitions(htfm_${name}_${isa} PRIVATE HTFM_ISA=${isa})
      target_compile_options(htfm_${name}_${isa} PRIVATE ${HTFM_ISA_FLAGS_${isa}} $<$<CONFIG:Release>:-O3> $<$<BOOL:${HTFM_FUZZ}>:-O1> -fno-math-errno -fno-trapping-math
                                                         -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized) # the last two: false alarms of GCC 12 in its own intrinsics
      list(APPEND objects $<TARGET_OBJECTS:htfm_${name}_${isa}>)
    endforeach()
  endif()
  set_property(GLOBAL APPEND PROPERTY HTFM_OBJECTS ${objects})
  # With those of all modules below it.
  foreach(used IN LISTS ARG_USES)
    get_property(below GLOBAL PROPERTY HTFM_OBJECTS_${used})
    list(APPEND objects ${below})
  endforeach()
  list(REMOVE_DUPLICATES objects)
  set_property(GLOBAL PROPERTY HTFM_OBJECTS_${name} ${objects})
endfunction()

# The rule of who may use whom, looked at before anything is compiled and whenever a file has changed.
function(htfm_check_uses)
  get_property(uses GLOBAL PROPERTY HTFM_USES)
  list(JOIN uses "\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/uses.txt CONTENT "${text}\n" @ONLY)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/htfm/*.h ${CMAKE_SOURCE_DIR}/htfm/*.cpp ${CMAKE_SOURCE_DIR}/htfm/*.cu)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/uses.ok
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DRULES=${CMAKE_BINARY_DIR}/uses.txt -DSTAMP=${CMAKE_BINARY_DIR}/uses.ok -P
            ${CMAKE_SOURCE_DIR}/cmake/CheckUses.cmake
    DEPENDS ${files} ${CMAKE_BINARY_DIR}/uses.txt ${CMAKE_SOURCE_DIR}/cmake/CheckUses.cmake
    COMMENT "Checking which module uses which")
  add_custom_target(htfm_uses DEPENDS ${CMAKE_BINARY_DIR}/uses.ok)
endfunction()
