# LibTorch out of the PyPI wheel, as imported targets: torch's own CMake package asks for a CUDA toolkit that need not be here.
if(NOT HTFM_VENV)
  message(FATAL_ERROR "HTFM_VENV is not set: run script/setup, or pass -DHTFM_VENV=<virtual environment with torch>")
endif()
file(GLOB torch_dirs ${HTFM_VENV}/lib/python3*/site-packages/torch)
if(NOT torch_dirs)
  message(FATAL_ERROR "no torch in ${HTFM_VENV}: run script/setup")
endif()
list(GET torch_dirs 0 HTFM_TORCH_DIR)

add_library(torch::cpu INTERFACE IMPORTED)
target_include_directories(torch::cpu SYSTEM INTERFACE ${HTFM_TORCH_DIR}/include ${HTFM_TORCH_DIR}/include/torch/csrc/api/include)
target_link_libraries(torch::cpu INTERFACE ${HTFM_TORCH_DIR}/lib/libtorch_cpu.so ${HTFM_TORCH_DIR}/lib/libc10.so)
target_link_options(torch::cpu INTERFACE -Wl,--disable-new-dtags)
list(APPEND CMAKE_BUILD_RPATH ${HTFM_TORCH_DIR}/lib)
# The wheel carries fmt's headers, which hide any other copy; without a library to link they are used header-only.
target_compile_definitions(torch::cpu INTERFACE FMT_HEADER_ONLY=1)
