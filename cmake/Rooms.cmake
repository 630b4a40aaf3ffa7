# A room is a folder of htfm/ with its own static library. Files named *_kernels.cpp are compiled once per instruction set
# (htfm/base/dispatch.h chooses at run time); everything else once. *_cuda.cpp and *.cu belong to the CUDA library (Cuda.cmake).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(HTFM_ISAS base v3 v4)
else()
  set(HTFM_ISAS base)
endif()
set(HTFM_ISA_FLAGS_v3 -march=x86-64-v3)
set(HTFM_ISA_FLAGS_v4 -march=x86-64-v4 -mprefer-vector-width=512)

function(htfm_room name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/htfm/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_cuda\\.cpp$") # parts of the CUDA library
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "_kernels\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_kernels\\.cpp$")
  if(NOT sources AND NOT kernels)
    add_library(htfm_${name} INTERFACE)
    target_link_libraries(htfm_${name} INTERFACE ${ARG_LIBS} htfm_options)
    return()
  endif()
  add_library(htfm_${name} STATIC ${sources})
  set_target_properties(htfm_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(htfm_${name} PUBLIC ${ARG_LIBS} PRIVATE htfm_options)
  target_include_directories(htfm_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_precompile_headers(htfm_${name} REUSE_FROM htfm_pch)
  if(kernels)
    foreach(isa IN LISTS HTFM_ISAS)
      add_library(htfm_${name}_${isa} OBJECT ${kernels})
      target_link_libraries(htfm_${name}_${isa} PRIVATE htfm_options)
      # Kernels see no torch and no precompiled header: a template instantiated there for a newer machine must not leak.
      target_compile_definitions(htfm_${name}_${isa} PRIVATE HTFM_ISA=${isa})
      target_compile_options(htfm_${name}_${isa} PRIVATE ${HTFM_ISA_FLAGS_${isa}} $<$<CONFIG:Release>:-O3> -fno-math-errno -fno-trapping-math
                                                         -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized) # the last two: false alarms of GCC 12 in its own intrinsics
      target_sources(htfm_${name} PRIVATE $<TARGET_OBJECTS:htfm_${name}_${isa}>)
    endforeach()
  endif()
endfunction()

# test/<room>_<what>_test.cpp becomes the program <room>_<what>_test, linked with everything that the program links.
function(htfm_tests)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/*_test.cpp)
  foreach(file IN LISTS tests)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX MATCH "^[a-z0-9]+" room ${name})
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE htfm_options htfm_${room} GTest::gtest_main)
    target_compile_definitions(${name} PRIVATE HTFM_TEST_DATA="${CMAKE_SOURCE_DIR}/test/golden")
    target_precompile_headers(${name} REUSE_FROM htfm_pch)
    # One entry a program: loading LibTorch takes longer than most single cases.
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
    if(room STREQUAL "app") # tests of the program itself
      target_compile_definitions(${name} PRIVATE HTFM_PROGRAM="$<TARGET_FILE:htfm>")
      add_dependencies(${name} htfm)
    endif()
  endforeach()
endfunction()
