// The program htfm.
#include "app/commands.h"
#include "app/program.h"

int main(int argc, char** argv) { return htfm::app::run_program(argc, argv, htfm::app::add_commands); }
