//! `ucx_info`, see [`ucx::tools::info`].

fn main() {
    std::process::exit(ucx::tools::info::main());
}
