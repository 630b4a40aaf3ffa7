# The libraries that read fields: ecCodes (GRIB2) and NetCDF. Only htfm/field includes their headers.
foreach(format IN ITEMS eccodes netcdf)
  find_path(${format}_INCLUDE ${format}.h REQUIRED)
  find_library(${format}_LIBRARY ${format} REQUIRED)
  mark_as_advanced(${format}_INCLUDE ${format}_LIBRARY)
  add_library(field::${format} UNKNOWN IMPORTED)
  set_target_properties(field::${format} PROPERTIES IMPORTED_LOCATION ${${format}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${format}_INCLUDE})
endforeach()
