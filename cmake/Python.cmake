# The Python package (python/htfm): the extension htfm._core on the library's public face, and what the wheel brings beside it. It is made in
# build/python/htfm together with links to the Python files, so that PYTHONPATH=build/python imports it. scikit-build-core (pyproject.toml)
# builds the same targets and installs the component `python`.
set(HTFM_WITH_PYTHON OFF)
if(SKBUILD)
  set(Python_EXECUTABLE ${PYTHON_EXECUTABLE}) # the one that runs pip
  set(HTFM_WITH_PYTHON ON)
elseif(NOT HTFM_PYTHON_PACKAGE STREQUAL "OFF")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/script/venv --path python OUTPUT_VARIABLE python_venv OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(python_venv)
    set(Python_EXECUTABLE ${python_venv}/bin/python)
    set(HTFM_WITH_PYTHON ON)
  elseif(HTFM_PYTHON_PACKAGE STREQUAL "ON")
    message(FATAL_ERROR "HTFM_PYTHON_PACKAGE is ON but its environment is not there: run script/venv python")
  endif()
endif()
message(STATUS "Python package: ${HTFM_WITH_PYTHON}")
if(NOT HTFM_WITH_PYTHON)
  return()
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(nanobind CONFIG REQUIRED)

set(HTFM_PYTHON_DIR ${CMAKE_BINARY_DIR}/python/htfm)
file(GLOB python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/*.cpp)
nanobind_add_module(htfm_python NB_STATIC NOMINSIZE ${python_sources})
set_target_properties(htfm_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${HTFM_PYTHON_DIR})
target_include_directories(htfm_python PRIVATE ${CMAKE_SOURCE_DIR})
# Headers of others alone: after a change in one of ours ccache would take the old precompiled header for the new one.
target_precompile_headers(htfm_python PRIVATE <nanobind/nanobind.h> <nanobind/stl/array.h> <nanobind/stl/function.h> <nanobind/stl/map.h> <nanobind/stl/optional.h>
                          <nanobind/stl/pair.h> <nanobind/stl/string.h> <nanobind/stl/string_view.h> <nanobind/stl/tuple.h> <nanobind/stl/vector.h>
                          <ATen/core/Tensor.h>)
target_compile_definitions(htfm_python PRIVATE HTFM_TORCH_VERSION="${HTFM_TORCH_VERSION}")
target_link_libraries(htfm_python PRIVATE htfm::htfm ${HTFM_TORCH_DIR}/lib/libtorch_python.so)

file(GLOB python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python/htfm ${CMAKE_SOURCE_DIR}/python/htfm/*.py
     ${CMAKE_SOURCE_DIR}/python/htfm/py.typed)
file(MAKE_DIRECTORY ${HTFM_PYTHON_DIR})
foreach(file IN LISTS python_files)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/htfm/${file} ${HTFM_PYTHON_DIR}/${file} SYMBOLIC)
endforeach()
nanobind_add_stub(htfm_python_stub MODULE htfm._core OUTPUT ${HTFM_PYTHON_DIR}/_core.pyi PYTHON_PATH ${CMAKE_BINARY_DIR}/python DEPENDS htfm_python)

# The wheel: everything lies in the package's folder, and finds torch beside it.
if(SKBUILD)
  set_target_properties(htfm_python PROPERTIES INSTALL_RPATH "$ORIGIN/lib;$ORIGIN/../torch/lib")
  set_target_properties(htfm_shared PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../torch/lib")
  set_target_properties(htfm-program PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/../../torch/lib")
  install(TARGETS htfm_python LIBRARY DESTINATION . COMPONENT python)
  install(FILES ${HTFM_PYTHON_DIR}/_core.pyi DESTINATION . COMPONENT python)
  install(TARGETS htfm htfm-program RUNTIME DESTINATION bin COMPONENT python)
  set_target_properties(htfm_shared PROPERTIES VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # one file: a wheel has no links
  install(TARGETS htfm_shared LIBRARY DESTINATION lib COMPONENT python NAMELINK_SKIP)
  # The system library that a bare machine may lack.
  file(REAL_PATH ${PNG_LIBRARY_RELEASE} real)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${real} OUTPUT_VARIABLE header)
  if(header MATCHES "SONAME +([^ \n]+)")
    install(FILES ${real} DESTINATION lib RENAME ${CMAKE_MATCH_1} COMPONENT python)
  endif()
  if(TARGET htfm_cuda)
    add_dependencies(htfm_python htfm_cuda) # scikit-build-core names targets, and some machines have none of this name
    set_target_properties(htfm_cuda PROPERTIES INSTALL_RPATH "$ORIGIN/../../../torch/lib")
    install(TARGETS htfm_cuda LIBRARY DESTINATION lib/htfm COMPONENT python)
  endif()
  install(DIRECTORY config/ DESTINATION config COMPONENT python FILES_MATCHING PATTERN "*.toml")
endif()

if(HTFM_TESTS)
  # name, files or folder, and the cases to take (-m of pytest).
  function(htfm_python_test name what cases)
    add_test(NAME ${name} COMMAND ${Python_EXECUTABLE} -m pytest -p no:cacheprovider -m "${cases}" ${CMAKE_SOURCE_DIR}/${what}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(environment PYTHONPATH=${CMAKE_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1 HTFM_MYPY_CACHE=${CMAKE_BINARY_DIR}/python/mypy
                    HTFM_PROGRAM=$<TARGET_FILE:htfm> HTFM_WITH_FIELDS=${HTFM_WITH_FIELDS} OMP_WAIT_POLICY=PASSIVE)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 COST 60 ENVIRONMENT "${environment}")
    if(cases STREQUAL "slow")
      set_tests_properties(${name} PROPERTIES LABELS slow)
    endif()
  endfunction()
  htfm_python_test(python python/tests "not slow")
  htfm_python_test(python_slow python/tests slow) # notebooks, types, 10^8 values
  # doc/commands.md is what the program says, and the pages that promise to run do.
  htfm_python_test(documents test/documents "not slow")
  htfm_python_test(documents_slow test/documents slow)
endif()
