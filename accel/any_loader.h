// A data loader whose type depends only on the type of its batches, for members and
// parameters of programs.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "accel/loader_epochs.h"
#include "runtime/data/epoch_loop.h"
#include "runtime/data/loader_context.h"

namespace accel {

template <typename Dataset, typename Sampler>
class DataLoader;

// A data loader that yields batches of one type, regardless of the types of its dataset and
// sampler. A DataLoader converts to it, so it is the type for members and function parameters:
//
//   void train(accel::AnyLoader<torch::data::Example<>> loader);
//   train(accelerator.prepare(accel::make_data_loader(dataset, 64)));
//
// An AnyLoader is the same loader as the DataLoader that it was made from, and its methods do the
// same. Not thread-safe.
template <typename Batch>
class AnyLoader : public LoaderEpochs {
 public:
  using Iterator = runtime::LoaderIterator<Batch>;

  // Makes an empty holder, for members that are assigned later. Methods throw std::logic_error.
  AnyLoader() = default;
  template <typename Dataset, typename Sampler>
  requires std::same_as<typename DataLoader<Dataset, Sampler>::Batch, Batch> AnyLoader(
      DataLoader<Dataset, Sampler> loader)
      : LoaderEpochs(loader.sequence()),
        loader_(std::make_shared<Typed<DataLoader<Dataset, Sampler>>>(std::move(loader))) {}

  Iterator begin() { return loader().begin(); }
  std::default_sentinel_t end() { return {}; }
  AnyLoader& operator*() { return *this; }

  std::size_t size() const { return loader().size(); }
  std::optional<std::size_t> known_size() const { return loader().known_size(); }
  bool is_prepared() const { return loader().is_prepared(); }
  // Called by Accelerator::prepare().
  AnyLoader sharded(runtime::LoaderContext context) const {
    return loader().sharded(std::move(context));
  }
  // See skip_first_batches().
  AnyLoader skipping(std::size_t steps) const { return loader().skipping(steps); }

 private:
  struct Erased {
    virtual ~Erased() = default;
    virtual Iterator begin() = 0;
    virtual std::size_t size() const = 0;
    virtual std::optional<std::size_t> known_size() const = 0;
    virtual bool is_prepared() const = 0;
    virtual AnyLoader sharded(runtime::LoaderContext context) const = 0;
    virtual AnyLoader skipping(std::size_t steps) const = 0;
  };
  template <typename Loader>
  struct Typed final : Erased {
    explicit Typed(Loader of) : loader(std::move(of)) {}
    Iterator begin() override { return loader.begin(); }
    std::size_t size() const override { return loader.size(); }
    std::optional<std::size_t> known_size() const override { return loader.known_size(); }
    bool is_prepared() const override { return loader.is_prepared(); }
    AnyLoader sharded(runtime::LoaderContext context) const override {
      return loader.sharded(std::move(context));
    }
    AnyLoader skipping(std::size_t steps) const override { return loader.skipping(steps); }

    Loader loader;
  };

  Erased& loader() const {
    if (loader_ == nullptr) {
      throw std::logic_error(
          "this loader is empty: assign what make_data_loader() or prepare() returns first");
    }
    return *loader_;
  }

  std::shared_ptr<Erased> loader_;
};

}  // namespace accel
