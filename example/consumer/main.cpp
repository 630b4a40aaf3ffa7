// A program of a user: from a table to a model, samples and a report, with the installed package.
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
    options.minutes = 0.2;
    const htfm::TableFit fit = htfm::fit_table(options);
    std::cout << "clock: " << fit.model.clock().describe() << "\n";
    const htfm::SampleResult drawn = htfm::sample(fit.model, htfm::sample_options(fit.model.config()));
    std::cout << drawn.samples.size(0) << " more samples, " << drawn.diverged << " diverged\n";
  } catch (const htfm::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
