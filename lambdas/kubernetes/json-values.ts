/**
 * Bounds of the JSON of one answer, so that scanning and parsing it hold the thread for at most 150 ms: at both bounds
 * the worst of 20 shapes took 140 ms on a core of a Xeon with Node.js 24. A new name costs V8 2 µs, anything else less
 * than 0.6 µs, and 300 bytes of memory. A page of 200 Nodes has 120,000 values, one of 500 Machines 100,000, and each
 * under 2,000 different names.
 */
const MAX_VALUES = 150_000;
const MAX_NAMES = 20_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;
const ITEMS = '"items"';

/** Several bits for each possible name, so that collisions are rare. */
const HASH_BITS = 18;
/** Random in every process: an attacker cannot make colliding names. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** Whether JSON exceeds the bounds on values or on different member names. Reads every byte at most twice. */
export function hasTooManyValues(json: Buffer): boolean {
  // A value needs at least a comma, a name its quotes and a colon.
  if (json.length < Math.min(MAX_VALUES, 3 * MAX_NAMES)) return false;
  const seen = new Uint8Array(2 ** HASH_BITS);
  let values = 0;
  let names = 0;
  let opening = 0;
  let closing = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      opening = at;
      at = endOfString(json, at);
      closing = at;
    } else if (byte === COLON) {
      const hash = hashOf(json, opening, closing);
      if (seen[hash] === 0) names += 1;
      seen[hash] = 1;
      if (names > MAX_NAMES) return true;
    } else if (byte === COMMA || byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      values += 1;
      if (values > MAX_VALUES) return true;
    }
  }
  return false;
}

/** Overwrites each element of the root's `items` that has more than `most` members, at any depth, with `null`. */
export function cutItems(json: Buffer, most: number): void {
  let depth = 0;
  let isInItems = false;
  let opening = 0;
  let start = 0;
  let members = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      opening = at;
      at = endOfString(json, at);
    } else if (byte === COLON) {
      if (depth === 1) isInItems = json.toString('latin1', opening, opening + ITEMS.length) === ITEMS;
      members += 1;
    } else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      depth += 1;
      if (depth === 3) {
        start = at;
        members = 0;
      }
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) {
      if (depth === 3 && isInItems && members > most) json.fill(' ', start, at + 1).write('null', start);
      depth -= 1;
    }
  }
}

/** @returns the position of the closing quote, or the end if it is missing: the parser reports that */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}

/** FNV-1a; its high bits depend on every byte. */
function hashOf(json: Buffer, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (json[at] ?? 0), 0x01000193);
  return hash >>> (32 - HASH_BITS);
}
