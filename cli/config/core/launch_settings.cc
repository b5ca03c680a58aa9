#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"", "compute_environment", kText, kFile, kLaunch, "LOCAL_MACHINE",
     "LOCAL_MACHINE|AMAZON_SAGEMAKER", "", kAsIs, "where the job runs; accel drives LOCAL_MACHINE"},
    {"", "distributed_type", kText, kFile, kLaunch, "",
     "NO|MULTI_CPU|MULTI_GPU|FSDP|DEEPSPEED|MEGATRON_LM|MULTI_NPU|MULTI_MLU|MULTI_SDAA|MULTI_MUSA|"
     "MULTI_XPU|MULTI_HPU|MULTI_NEURON|XLA|TPU",
     "", kAsIs, "what workers do with each other; accel drives the first six"},
    {"", "mixed_precision", kText, kFileAndFlag, kWorkers, "no", "no|fp16|bf16|fp8",
     "ACCELERATE_MIXED_PRECISION", kLower, "precision of the computation"},
    {"", "use_cpu", kBool, kFile, kLaunch, "false", "", "", kAsIs, "use no GPU"},
    {"", "cpu", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "use no GPU; the default configuration file is then not read"},
    {"", "multi_gpu", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "train on several GPUs"},
    {"", "use_fsdp", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "shard the model (FSDP)"},
    {"", "use_deepspeed", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "use DeepSpeed"},
    {"", "use_megatron_lm", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "use Megatron-LM"},
    {"", "use_parallelism_config", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "combine kinds of parallelism; needs FSDP version 2"},
    {"", "num_processes", kInt, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "number of processes on all machines together (without a file: one per GPU, or one)"},
    {"", "num_machines", kInt, kFileAndFlag, kLaunch, "1", "", "", kAsIs, "number of machines"},
    {"", "nnodes", kInt, kFlag, kLaunch, "", "", "", kAsIs, "the same as num_machines; N:N is N"},
    {"", "nproc_per_node", kInt, kFlag, kLaunch, "", "gpu|cpu|auto", "", kAsIs,
     "number of processes on this machine, in place of num_processes; gpu is one for each GPU of "
     "gpu_ids, cpu one for each CPU, on which the job then trains, auto one for each GPU or else "
     "CPU; machines may differ"},
    {"", "standalone", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "one machine, also in a step of Slurm that has several"},
    {"", "machine_rank", kInt, kFileAndFlag, kLaunch, "0", "", "", kAsIs,
     "rank of this machine in a launch on several without a coordinator; machine 0 serves the "
     "others"},
    {"", "coordinator", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "HOST:PORT or unix:PATH of the coordinator to which the launch submits the job, for any "
     "number "
     "of machines (an own key of accel)"},
    {"", "gpu_ids", kText, kFileAndFlag, kLaunch, "all", "", "", kAsIs,
     "the GPUs of a machine that the job may use: all, or ids such as 0,1"},
    {"", "num_cpu_threads_per_process", kInt, kFlag, kWorkers, "", "", "OMP_NUM_THREADS", kAsIs,
     "threads of each process (default: OMP_NUM_THREADS, else the cores of a CPU job divided by "
     "its processes, else 1)"},
    {"", "enable_cpu_affinity", kBool, kFileAndSwitch, kLaunch, "false", "",
     "ACCELERATE_CPU_AFFINITY", kAsIs, "bind each process to the cores near its GPU"},
    {"", "debug", kBool, kFileAndSwitch, kLaunch, "false", "", "ACCELERATE_DEBUG_MODE", kAsIs,
     "compare the shapes of tensors across ranks before each collective"},
    {"", "max_restarts", kInt, kFlag, kLaunch, "0", "", "", kAsIs,
     "restart the job after a failure, in a new generation, at most N times"},
    {"", "role", kText, kFlag, kLaunch, "default", "", "ROLE_NAME", kAsIs,
     "name of the role of the workers"},
    {"", "log_dir", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "keep each rank's output below this directory"},
    {"", "tee", kText, kFlag, kLaunch, "0", "", "", kAsIs,
     "mark lines with the role and the local rank, and with --log_dir copy them into a file for "
     "each process, as torchrun does: 0 (none), 1 (standard output), 2 (standard error), 3 (both), "
     "or such for local ranks, as in 0:3,1:1"},
    {"", "quiet", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "print only the output of workers and errors"},
    {"", "main_process_ip", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "address or name of the machine that serves the others, in a launch on several without a "
     "coordinator"},
    {"", "main_process_port", kInt, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "port at which the machines meet (default: 29500)"},
    {"", "rdzv_endpoint", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "HOST:PORT, in place of main_process_ip and main_process_port"},
    {"", "rdzv_id", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "name of this launch; machines with another one do not take part"},
    {"", "rdzv_timeout", kInt, kFlag, kLaunch, "600", "", "", kAsIs,
     "seconds in which all machines must come"},
    {"", "advertise", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "how the other machines reach this one: an address, an interface, or a network such as "
     "10.0.0.0/8 (default: the address of the route to the machine that serves)"},
    {"", "port_range", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "ports of the job's store, such as 29500-29599 (default: any)"},
    {"", "trust_network", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "let any machine that reaches the address take part, without a secret"},
    {"", "rdzv_backend", kText, kFileAndFlag, kReplaced, "static", "", "", kAsIs,
     "the job's store is the rendezvous"},
    {"", "rdzv_conf", kText, kFlag, kReplaced, "", "", "", kAsIs,
     "the job's store is the rendezvous"},
    {"", "same_network", kBool, kFileAndSwitch, kReplaced, "false", "", "", kAsIs,
     "nodes are reached at the addresses that their agents advertise"},
    {"", "monitor_interval", kFloat, kFlag, kReplaced, "0.1", "", "", kAsIs,
     "accel is notified of the end of a worker, without polling"},
    {"", "main_training_function", kText, kFileAndFlag, kReplaced, "main", "", "", kAsIs,
     "only TPUs start a function; other workers start the program"},
    {"mpirun_config", "mpirun_hostfile", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "host file of mpirun; a launch with it is refused, because accel starts the processes"},
};

}  // namespace

absl::Span<const Setting> LaunchSettings() { return kSettings; }

}  // namespace accel::cli
