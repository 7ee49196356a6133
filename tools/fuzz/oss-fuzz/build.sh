#!/bin/bash -eu
# Builds every fuzz program into $OUT, with its seeds and words, as OSS-Fuzz asks: $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE, $WORK
# and $OUT are set, and the current folder is the source tree. Elsewhere:
#   CC=clang-14 CXX=clang++-14 CXXFLAGS="-O1 -fsanitize=fuzzer-no-link,address" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#     OUT=/tmp/out WORK=/tmp/work tools/fuzz/oss-fuzz/build.sh

# The system's libraries of C++ are built with libstdc++.
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
build=$WORK/build-fuzz
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS= -DCMAKE_CXX_FLAGS_FUZZ="$CXXFLAGS" -DCMAKE_EXE_LINKER_FLAGS_FUZZ="$CXXFLAGS" \
  -DQTX_BUILD_FUZZERS=ON -DQTX_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DQTX_BUILD_TESTS=OFF -DQTX_BUILD_PYTHON=OFF
ninja -C "$build" qtx_fuzzers

# Where they run there are no libraries but those in $OUT.
mkdir -p "$OUT/lib"
for program in "$build"/bin/qtx_fuzz_*; do
  name=$(basename "$program")
  cp "$program" "$OUT/$name"
  ldd "$program" | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libpthread|libdl|librt|ld-linux[^/]*)\.so/ {print $3}' | xargs -r cp -Lut "$OUT/lib"
  patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$OUT/$name"
done
chmod -x "$OUT"/lib/*
patchelf --set-rpath '$ORIGIN' "$OUT"/lib/*

python3 tools/fuzz/targets.py "$build/bin" "$WORK/seeds"
for program in "$OUT"/qtx_fuzz_*; do
  name=$(basename "$program")
  row=$WORK/seeds/${name#qtx_fuzz_}
  [ -z "$(ls -A "$row")" ] || (cd "$row" && find . -type f -print | zip -q "$OUT/${name}_seed_corpus.zip" -@)
  [ ! -f "$row.dict" ] || cp "$row.dict" "$OUT/$name.dict"
done
