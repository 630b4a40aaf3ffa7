#include "htfm/path/coupling.h"

#include "htfm/base/registry.h"

namespace htfm {

namespace {

// The paper's choice: clock and source know nothing of the data.
class Independent final : public Coupling {
 public:
  void pair(Key, const at::Tensor&, SourceBatch&) const override {}
};

}  // namespace

std::span<const CouplingInfo> couplings() {
  static const std::vector<CouplingInfo> list{
      {"independent", "clock and source independent of the data", [] { return std::make_unique<Independent>(); }},
  };
  return list;
}

std::unique_ptr<Coupling> make_coupling(const std::string& kind) { return find_named(couplings(), kind, "coupling.kind").make(); }

}  // namespace htfm
