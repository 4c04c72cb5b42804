// The other implementation, behind the interface of `berth eval --batch`.
//
//     node other.mjs FOLDER
//
// FOLDER has the node_modules. Reads one JSON record a line ({"id", "expr", "bindings"}), prints
// one line each: {"id", "value": {typed}} or {"id", "error"}. Values are typed as in the
// conformance vectors.

import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const require = createRequire(path.join(path.resolve(process.argv[2]), "package.json"));
const cel = require("@bufbuild/cel");
const { strings } = require("@bufbuild/cel/ext");
const { create } = require("@bufbuild/protobuf");
const { isReflectMessage } = require("@bufbuild/protobuf/reflect");
const { DurationSchema, TimestampSchema } = require("@bufbuild/protobuf/wkt");

const env = cel.celEnv({ funcs: strings });

function number(text) {
  return text === "NaN" ? NaN : Number(text); // takes Infinity and -0.0
}

function fromTyped(v) {
  switch (v.type) {
    case "null":
      return null;
    case "bool":
    case "string":
      return v.value;
    case "int":
      return BigInt(v.value);
    case "uint":
      return cel.celUint(BigInt(v.value));
    case "double":
      return number(v.value);
    case "bytes":
      return new Uint8Array(Buffer.from(v.base64, "base64"));
    case "list":
      return cel.celList(v.value.map(fromTyped));
    case "map":
      return cel.celMap(new Map(v.value.map(([key, value]) => [fromTyped(key), fromTyped(value)])));
    case "duration":
      return create(DurationSchema, { seconds: BigInt(v.seconds), nanos: v.nanos });
    case "timestamp":
      return create(TimestampSchema, { seconds: BigInt(v.seconds), nanos: v.nanos });
  }
  throw new Error(`a binding of type ${v.type}`);
}

function timeToTyped(type, message) {
  return { type, seconds: message.seconds.toString(), nanos: message.nanos };
}

function objectToTyped(v) {
  if (cel.isCelUint(v)) return { type: "uint", value: v.value.toString() };
  if (v instanceof Uint8Array) return { type: "bytes", base64: Buffer.from(v).toString("base64") };
  if (cel.isCelType(v)) return { type: "type", value: v.name };
  if (cel.isCelList(v)) return { type: "list", value: Array.from(v, toTyped) };
  if (cel.isCelMap(v))
    return { type: "map", value: Array.from(v, ([key, value]) => [toTyped(key), toTyped(value)]) };
  if (isReflectMessage(v, TimestampSchema)) return timeToTyped("timestamp", v.message);
  if (isReflectMessage(v, DurationSchema)) return timeToTyped("duration", v.message);
  throw new Error(`a result that is ${v}`);
}

function toTyped(v) {
  if (v === null) return { type: "null" };
  switch (typeof v) {
    case "boolean":
      return { type: "bool", value: v };
    case "bigint":
      return { type: "int", value: v.toString() };
    case "number":
      return { type: "double", value: Object.is(v, -0) ? "-0.0" : v.toString() };
    case "string":
      return { type: "string", value: v };
  }
  return objectToTyped(v);
}

function evaluate(record) {
  const bindings = {};
  for (const [name, value] of Object.entries(record.bindings ?? {}))
    bindings[name] = fromTyped(value);
  const result = cel.plan(env, cel.parse(record.expr))(bindings);
  if (cel.isCelError(result)) throw result;
  return toTyped(result);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const record = JSON.parse(line);
  let answer;
  try {
    answer = { id: record.id, value: evaluate(record) };
  } catch (e) {
    answer = { id: record.id, error: String(e?.message ?? e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
