// A program of a user, with the installed package: what `htfm fit` does.
#include <htfm/htfm.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: consumer TABLE.csv FOLDER\n";
    return 2;
  }
  try {
    htfm::TableFitOptions options;
    options.file.path = argv[1];
    options.folder = argv[2];
    options.minutes = 0.1;
    options.page = [](const htfm::TableFit& fit) { return htfm::fit_page(fit); };
    const htfm::TableFit fit = htfm::fit_table(options);
    std::cout << "htfm " << HTFM_VERSION << ", " << fit.model.clock().describe() << "\n";
    for (const std::string& sentence : htfm::comparison_sentences(fit)) std::cout << sentence << "\n";
    std::cout << fit.samples.size(0) << " samples in " << fit.samples_file << ", report in " << fit.page_file << "\n";
    return fit.diverged == 0 ? 0 : 1;
  } catch (const htfm::InputError& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
