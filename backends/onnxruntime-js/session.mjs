// Sessions of an ONNX Runtime for JavaScript, asked on stdin: `node session.mjs onnxruntime-web THREADS`.
//
// A message is its length in 4 bytes (little-endian), a line of JSON, and the bytes of its arrays one after the other:
// {"model": bytes} or {"inputs": [{name, type, dims, bytes}]}, answered by {"outputs": [...]}, {} or {"error": text}.
import { createRequire } from "node:module";
import { readSync, writeSync } from "node:fs";

const [name, threads] = process.argv.slice(2);
const ort = createRequire(import.meta.url)(name);
ort.env.logLevel = "fatal";
if (name === "onnxruntime-web") ort.env.wasm.numThreads = Number(threads);
let session = null;

/** So many bytes of stdin, or null at its end. */
function read(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count;) {
    const more = readSync(0, bytes, at, count - at);
    if (more === 0) return null;
    at += more;
  }
  return bytes;
}

function write(header, arrays) {
  const body = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...arrays]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(body.length);
  const message = Buffer.concat([size, body]);
  for (let at = 0; at < message.length;) at += writeSync(1, message, at);
}

function tensor({ type, dims }, bytes) {
  const Kind = { bool: Uint8Array, float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array,
    uint64: BigUint64Array, int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array, int8: Int8Array,
    uint8: Uint8Array }[type];
  if (!Kind) throw new Error(`no arrays of ${type}`);
  return new ort.Tensor(type, new Kind(new Uint8Array(bytes).buffer), dims);
}

async function answer(header, bytes) {
  if (header.model !== undefined) {
    await session?.release();
    session = null;
    session = await ort.InferenceSession.create(new Uint8Array(bytes), { executionProviders: [name === "onnxruntime-web" ? "wasm" : "cpu"],
      intraOpNumThreads: Number(threads), interOpNumThreads: 1, logSeverityLevel: 4, extra: { session: { qdqisint8allowed: "1" } } });
    return [{}, []];
  }
  const feeds = {};
  let at = 0;
  for (const input of header.inputs) {
    feeds[input.name] = tensor(input, bytes.subarray(at, at += input.bytes));
  }
  const results = await session.run(feeds);
  const outputs = session.outputNames.map((key) => results[key]);
  const arrays = outputs.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return [{ outputs: outputs.map(({ type, dims }, i) => ({ type, dims, bytes: arrays[i].length })) }, arrays];
}

for (let size = read(4); size; size = read(4)) {
  const body = read(size.readUInt32LE());
  const end = body.indexOf(10);
  try {
    write(...await answer(JSON.parse(body.subarray(0, end)), body.subarray(end + 1)));
  } catch (fault) {
    write({ error: String(fault?.message ?? fault) }, []);
  }
}
process.exit(0);
