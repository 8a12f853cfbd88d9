#!/bin/bash
# Expected, but not written down before it was tried: Tensor::pow of -2 and 2 is 4, and of 0 and 0 it is 1, as powf of the same library, of Rust and of IEEE 754 have it.
# Found: candle computes exp(y * log(x)), which is NaN for a base that is negative or zero.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"

[dependencies]
candle-core = "=0.11.1"
TOML
cat > src/main.rs <<'RUST'
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let mut changed = true;
    for (x, y) in [(-2f32, 2f32), (-2.0, 3.0), (0.0, 0.0), (3.0, 2.0)] {
        let of = |v: f32| Tensor::new(&[v], &Device::Cpu);
        let pow = of(x)?.pow(&of(y)?)?.to_vec1::<f32>()?[0];
        let powf = of(x)?.powf(y as f64)?.to_vec1::<f32>()?[0];
        println!("candle 0.11.1: {x} to the power of {y}: pow {pow}, powf {powf}, Rust {}", x.powf(y));
        changed &= pow == x.powf(y);
    }
    if changed {
        println!("the behaviour has changed");
        std::process::exit(1);
    }
    Ok(())
}
RUST
cargo run --quiet
