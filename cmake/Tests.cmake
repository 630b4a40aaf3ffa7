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
set(test_seconds 900)
if(HTFM_SANITIZE)
  set(test_seconds 7200)
endif()
# What those that take longer cost, in seconds of a core: ctest starts the longest first, so that none is left alone at the end.
set(cost_app 35)
set(cost_sample 30)
set(cost_train 20)
foreach(module IN ITEMS clock field fit method model rare stat)
  set(cost_${module} 12)
endforeach()
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
  if(module STREQUAL "app")
    set(shards 3) # the longest: in parts, so that several cores share it
  endif()
  if(NOT DEFINED cost_${module})
    set(cost_${module} 1)
  endif()
  foreach(shard RANGE 1 ${shards})
    set(name ${module})
    if(shards GREATER 1)
      set(name ${module}_${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name} COMMAND ${module}_test --gtest_filter=-*Slow.*:GoldenBits.*)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${test_seconds} COST ${cost_${module}} ENVIRONMENT
                         "${test_environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
  foreach(file IN LISTS files)
    file(STRINGS ${file} slow REGEX "^TEST[_A-Z]*\\([A-Za-z]+Slow," LIMIT_COUNT 1)
    if(slow)
      add_test(NAME ${module}_slow COMMAND ${module}_test --gtest_filter=*Slow.*:-GoldenBits*)
      set_tests_properties(${module}_slow PROPERTIES TIMEOUT ${test_seconds} LABELS slow ENVIRONMENT "${test_environment}")
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
add_test(NAME golden_bits_slow COMMAND sample_test --gtest_filter=GoldenBitsSlow.*)
set_tests_properties(golden_bits golden_bits_slow PROPERTIES TIMEOUT ${test_seconds} COST 10 ENVIRONMENT "${test_environment};HTFM_ISA=v3")
set_tests_properties(golden_bits_slow PROPERTIES LABELS slow)
# The commands themselves, for what need not start the program (test/app/program_server.h).
target_sources(app_test PRIVATE test/app/program_server.cpp)
target_link_libraries(app_test PRIVATE htfm_app htfm_commands CLI11::CLI11)
add_dependencies(app_test htfm htfm-experiment)
foreach(loaded IN ITEMS htfm_mpi htfm_store)
  if(TARGET ${loaded})
    add_dependencies(app_test ${loaded})
  endif()
endforeach()
if(TARGET htfm_python_stub)
  add_dependencies(quick_tests htfm_python_stub)
endif()

find_program(python3 python3)
# What the library links and shows; sanitizers are linked, too, and leave symbols open.
if(python3 AND NOT HTFM_SANITIZE)
  # Sampling needs nothing of training: with the modules below it alone it is a whole library.
  get_property(sampling_objects GLOBAL PROPERTY HTFM_OBJECTS_sample)
  add_library(htfm_sampling_alone SHARED ${sampling_objects})
  target_link_libraries(htfm_sampling_alone PRIVATE ${htfm_links})
  target_link_options(htfm_sampling_alone PRIVATE -Wl,--no-undefined)
  set_target_properties(htfm_sampling_alone PROPERTIES LINKER_LANGUAGE CXX)
  add_dependencies(quick_tests htfm_sampling_alone)
  add_test(NAME library COMMAND ${python3} ${CMAKE_SOURCE_DIR}/test/package/library_test.py $<TARGET_FILE:htfm_shared> $<TARGET_FILE:htfm-program>
                                $<TARGET_FILE:htfm_sampling_alone>)
endif()

# The installed package: a user's program built against it and run; in the slow tier every example, with the compilers that are there.
# A program that is compiled without a sanitizer does not load a library that is compiled with one.
if(NOT HTFM_SANITIZE)
  set(package_test ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR})
  add_test(NAME package COMMAND ${package_test} -DWORK=${CMAKE_BINARY_DIR}/package-test -P ${CMAKE_SOURCE_DIR}/cmake/PackageTest.cmake)
  add_test(NAME package_slow COMMAND ${package_test} -DWORK=${CMAKE_BINARY_DIR}/package-test-all "-DCOMPILERS=g++;clang++-14" -P
                                     ${CMAKE_SOURCE_DIR}/cmake/PackageTest.cmake)
  set_tests_properties(package package_slow PROPERTIES TIMEOUT ${test_seconds} COST 40)
  set_tests_properties(package_slow PROPERTIES LABELS slow)
endif()

# Preloaded into the program by the tests of faults: makes calls of the system fail.
add_library(htfm_inject MODULE test/app/inject.cpp)
target_link_libraries(htfm_inject PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(htfm_inject PROPERTIES CXX_VISIBILITY_PRESET default)
add_dependencies(app_test htfm_inject)

# Links, tables and paragraphs of the pages: any Python will do.
if(python3)
  add_test(NAME pages COMMAND ${python3} ${CMAKE_SOURCE_DIR}/test/documents/check_pages_test.py)
endif()
