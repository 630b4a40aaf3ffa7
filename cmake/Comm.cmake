# Several processes: htfm_mpi (MPI), htfm_store (c10d's store, for torchrun) and htfm_nccl (sums over GPUs), shared libraries beside the program
# that are loaded when they are asked for. Each is left out where what it needs is not installed.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
message(STATUS "MPI: ${MPI_CXX_FOUND}")

# What a module uses of the core has no state, and is compiled into it again.
function(htfm_comm_library name)
  add_library(${name} SHARED ${ARGN} ${CMAKE_SOURCE_DIR}/htfm/comm/communicator.cpp)
  target_link_libraries(${name} PRIVATE htfm_options htfm_fmt -Wl,--no-undefined -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/module.map)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/module.map)
endfunction()

if(MPI_CXX_FOUND)
  htfm_comm_library(htfm_mpi ${CMAKE_SOURCE_DIR}/htfm/comm/mpi_module.cpp)
  target_link_libraries(htfm_mpi PRIVATE MPI::MPI_CXX)
  set_target_properties(htfm_mpi PROPERTIES BUILD_RPATH "")
endif()

if(EXISTS ${HTFM_TORCH_DIR}/include/torch/csrc/distributed/c10d/TCPStore.hpp)
  htfm_comm_library(htfm_store ${CMAKE_SOURCE_DIR}/htfm/comm/store_module.cpp ${CMAKE_SOURCE_DIR}/htfm/comm/launch_place.cpp)
  target_link_libraries(htfm_store PRIVATE torch::cpu)
endif()

# NCCL comes with torch's wheel.
set(HTFM_WITH_NCCL OFF)
get_filename_component(torch_site ${HTFM_TORCH_DIR} DIRECTORY)
find_path(NCCL_INCLUDE nccl.h HINTS ${torch_site}/nvidia/nccl/include NO_DEFAULT_PATH)
find_file(NCCL_LIBRARY libnccl.so.2 HINTS ${torch_site}/nvidia/nccl/lib NO_DEFAULT_PATH)
mark_as_advanced(NCCL_INCLUDE NCCL_LIBRARY)
if(HTFM_WITH_CUDA AND NCCL_INCLUDE AND NCCL_LIBRARY)
  set(HTFM_WITH_NCCL ON)
  htfm_comm_library(htfm_nccl ${CMAKE_SOURCE_DIR}/htfm/comm/nccl_module.cpp)
  target_include_directories(htfm_nccl SYSTEM PRIVATE ${NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(htfm_nccl PRIVATE ${NCCL_LIBRARY} CUDA::cudart ${HTFM_TORCH_DIR}/lib/libtorch_cuda.so ${HTFM_TORCH_DIR}/lib/libc10_cuda.so
                                          torch::cpu)
  set_target_properties(htfm_nccl PROPERTIES BUILD_RPATH "${HTFM_TORCH_DIR}/lib;${torch_site}/nvidia/nccl/lib")
endif()
message(STATUS "NCCL: ${HTFM_WITH_NCCL}")
