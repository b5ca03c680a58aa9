// A plugin of GCC that adds `#pragma accel instantiate_templates`. The pragma instantiates all
// templates that have been used so far. It is the last line of each precompiled header.
//
// GCC instantiates function templates at the end of a file, because few of them are needed before.
// A precompiled header is written before that. It contains only a list of the instantiations that
// are due, which are 8,000 with LibTorch's headers. Each file that loads the header then makes all
// of them: an empty file takes 7 s of processor time. No option and no construct of C++ makes them
// earlier (docs/decisions/0030).

#include "gcc-plugin.h"
// These need gcc-plugin.h first.
#include "c-family/c-pragma.h"
#include "cp/cp-tree.h"
#include "plugin-version.h"

// GCC loads only plugins that define this name.
extern "C" int plugin_is_GPL_compatible;
int plugin_is_GPL_compatible;

namespace {

void InstantiateTemplates(cpp_reader*) { instantiate_pending_templates(/*retries=*/0); }

void RegisterPragma(void*, void*) {
  c_register_pragma("accel", "instantiate_templates", InstantiateTemplates);
}

}  // namespace

extern "C" int plugin_init(plugin_name_args* plugin, plugin_gcc_version* compiler);

// GCC calls this. Returns 0 if this file was compiled for that version of GCC.
int plugin_init(plugin_name_args* plugin, plugin_gcc_version* compiler) {
  if (!plugin_default_version_check(compiler, &gcc_version)) return 1;
  register_callback(plugin->base_name, PLUGIN_PRAGMAS, RegisterPragma, nullptr);
  return 0;
}
