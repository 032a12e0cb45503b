//! `ucx_perftest`, see [`ucx::tools::perf`].

fn main() {
    std::process::exit(ucx::tools::perf::main());
}
