/** A page of 500 Nodes has some 300,000; a value takes up to 300 bytes once it is parsed, however few it has in JSON. */
const MAX_VALUES = 500_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;

/** Whether JSON has more values in it than are worth their memory. Looks at every byte outside strings once, and allocates nothing. */
export function hasTooManyValues(json: Buffer): boolean {
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === COMMA || byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      values += 1;
      if (values > MAX_VALUES) return true;
    }
  }
  return false;
}

/** @returns the place of the closing quote, or the end of what has none: the parser says what is wrong with it. */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}
