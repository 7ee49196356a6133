// A plugin of the emulator QEMU (interface version 1, QEMU 4.2 to 8): counts the instructions that
// the program executes and prints their number to stderr at its end, as "instructions N". Of the
// interface (docs/devel/tcg-plugins in QEMU's sources) only what is used is declared here. Exact
// for a program of one thread: the emulator adds to one number, without locking, block by block.
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

using PluginId = std::uint64_t;
struct Block;  // of translated instructions, the emulator's
using OnTranslation = void (*)(PluginId, Block*);
using OnExit = void (*)(PluginId, void*);
enum class Inline { kAdd = 0 };

std::uint64_t instructions = 0;

}  // namespace

extern "C" {
std::size_t qemu_plugin_tb_n_insns(const Block* block);
void qemu_plugin_register_vcpu_tb_trans_cb(PluginId id, OnTranslation callback);
void qemu_plugin_register_vcpu_tb_exec_inline(Block* block, Inline operation, void* number,
                                              std::uint64_t operand);
void qemu_plugin_register_atexit_cb(PluginId id, OnExit callback, void* data);

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;

[[gnu::visibility("default")]] int qemu_plugin_install(PluginId id, const void* /*emulator*/,
                                                       int /*argc*/, char** /*argv*/) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, [](PluginId, Block* block) {
    qemu_plugin_register_vcpu_tb_exec_inline(block, Inline::kAdd, &instructions,
                                             qemu_plugin_tb_n_insns(block));
  });
  qemu_plugin_register_atexit_cb(
      id, [](PluginId, void*) { std::fprintf(stderr, "instructions %" PRIu64 "\n", instructions); },
      nullptr);
  return 0;
}
}
