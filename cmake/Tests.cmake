# test/<module>/<what>_test.cpp: one program for each folder. ctest runs whole programs, since loading LibTorch takes longer than most cases;
# `build/<module>_test --gtest_filter=...` runs some of them. Cases of suites that end in Slow, and whatever else has the label `slow`, belong to
# `make test-all`.
add_library(htfm_test_pch OBJECT cmake/pch.cpp)
target_precompile_headers(htfm_test_pch PUBLIC cmake/pch_test.h)
target_link_libraries(htfm_test_pch PUBLIC htfm_options torch::cpu GTest::gtest)
# Tests are compiled for a quick build: what takes time in them is the library.
set(test_options $<$<CONFIG:Release>:-O1>)
target_compile_options(htfm_test_pch PUBLIC ${test_options})
# What the tests of `make test` need to be built: all but the libraries for devices, which the others build.
add_custom_target(quick_tests)
add_dependencies(quick_tests htfm htfm-experiment)
# Threads that wait must not take the cores of the tests beside them.
set(test_environment HTFM_SOURCE=${CMAKE_SOURCE_DIR} OMP_WAIT_POLICY=PASSIVE)
file(GLOB test_folders CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/test ${CMAKE_SOURCE_DIR}/test/*)
foreach(module IN LISTS test_folders)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/test/${module}/*_test.cpp)
  if(NOT HTFM_WITH_FIELDS) # their files are written with the libraries themselves
    list(FILTER files EXCLUDE REGEX "/test/(field/|app/field_test\\.cpp)")
  endif()
  if(NOT files)
    continue()
  endif()
  add_executable(${module}_test ${files})
  target_link_libraries(${module}_test PRIVATE htfm_options htfm_internal GTest::gtest_main)
  # -fmacro-prefix-map: no path of this machine in what is said.
  target_compile_options(${module}_test PRIVATE ${test_options} -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
  add_dependencies(quick_tests ${module}_test)
  target_precompile_headers(${module}_test REUSE_FROM htfm_test_pch)
  if(HTFM_BATCH GREATER 1)
    set_target_properties(${module}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HTFM_BATCH})
  endif()
  set(shards 1)
  set(cost 0)
  if(module STREQUAL "app")
    set(shards 3) # the longest: in parts, so that several cores share it
    set(cost 800) # and first, so that none is left alone at the end
  elseif(module MATCHES "^(field|method|rare|sample|train)$")
    set(cost 500)
  endif()
  foreach(shard RANGE 1 ${shards})
    set(name ${module})
    if(shards GREATER 1)
      set(name ${module}_${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name} COMMAND ${module}_test --gtest_filter=-*Slow.*:GoldenBits.*)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST ${cost} ENVIRONMENT
                         "${test_environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
  foreach(file IN LISTS files)
    file(STRINGS ${file} slow REGEX "^TEST[_A-Z]*\\([A-Za-z]+Slow," LIMIT_COUNT 1)
    if(slow)
      add_test(NAME ${module}_slow COMMAND ${module}_test --gtest_filter=*Slow.*)
      set_tests_properties(${module}_slow PROPERTIES TIMEOUT 900 LABELS slow ENVIRONMENT "${test_environment}")
      break()
    endif()
  endforeach()
endforeach()
if(HTFM_WITH_FIELDS)
  target_link_libraries(field_test PRIVATE field::eccodes field::netcdf)
  target_link_libraries(app_test PRIVATE field::eccodes field::netcdf)
  add_dependencies(field_test htfm_fields)
endif()
# The golden bits are those of one instruction set, which is chosen when a program starts.
add_test(NAME golden_bits COMMAND sample_test --gtest_filter=GoldenBits.*)
set_tests_properties(golden_bits PROPERTIES TIMEOUT 900 COST 500 ENVIRONMENT "${test_environment};HTFM_ISA=v3")
add_dependencies(app_test htfm htfm-experiment)
foreach(loaded IN ITEMS htfm_mpi htfm_store)
  if(TARGET ${loaded})
    add_dependencies(app_test ${loaded})
  endif()
endforeach()
if(TARGET htfm_python_stub)
  add_dependencies(quick_tests htfm_python_stub)
endif()

# The installed package: a user's program built against it and run; in the slow tier every example, with the compilers that are there.
set(package_test ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR})
add_test(NAME package COMMAND ${package_test} -DWORK=${CMAKE_BINARY_DIR}/package-test -P ${CMAKE_SOURCE_DIR}/cmake/PackageTest.cmake)
add_test(NAME package_slow COMMAND ${package_test} -DWORK=${CMAKE_BINARY_DIR}/package-test-all "-DCOMPILERS=g++;clang++-14" -P
                                   ${CMAKE_SOURCE_DIR}/cmake/PackageTest.cmake)
set_tests_properties(package package_slow PROPERTIES TIMEOUT 900 COST 1000) # the longest: first
set_tests_properties(package_slow PROPERTIES LABELS slow)

# Preloaded into the program by the tests of faults: makes calls of the system fail.
add_library(htfm_inject MODULE test/app/inject.cpp)
target_link_libraries(htfm_inject PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(htfm_inject PROPERTIES CXX_VISIBILITY_PRESET default)
add_dependencies(app_test htfm_inject)

# Links, tables and paragraphs of the pages: any Python will do.
find_program(python3 python3)
if(python3)
  add_test(NAME pages COMMAND ${python3} ${CMAKE_SOURCE_DIR}/test/documents/check_pages_test.py)
endif()
