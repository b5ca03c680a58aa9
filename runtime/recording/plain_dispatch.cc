#include "runtime/recording/plain_dispatch.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorImpl.h>

namespace accel::runtime {

const c10::impl::LocalDispatchKeySet& plain_dispatch() {
  static const c10::impl::LocalDispatchKeySet keys = [] {
    c10::impl::LocalDispatchKeySet plain = c10::impl::tls_local_dispatch_key_set();
    plain.included_ = c10::DispatchKeySet(c10::DispatchKey::BackendSelect);
    plain.excluded_ =
        c10::default_excluded_set | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return plain;
  }();
  return keys;
}

}  // namespace accel::runtime
