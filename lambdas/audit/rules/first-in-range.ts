import { compare } from '../../words.ts';

/** Names returned for a range. */
export const SHOWN = 3;

/** Counts named items in a range of places, with their first names. Adding and querying take logarithmic time. */
export class FirstInRange {
  readonly #length: number;
  /** A segment tree: the node of place `i` is `length + i`, and the parent of node `n` is `n / 2`. */
  readonly #counts: Uint32Array;
  readonly #names: (readonly string[])[] = [];

  constructor(length: number) {
    this.#length = length;
    this.#counts = new Uint32Array(2 * length);
  }

  add(place: number, name: string): void {
    for (let node = this.#length + place; node > 0; node >>= 1) {
      this.#counts[node] = (this.#counts[node] ?? 0) + 1;
      this.#names[node] = withName(this.#names[node] ?? [], name);
    }
  }

  /** @param to exclusive */
  within(from: number, to: number): { readonly count: number; readonly names: readonly string[] } {
    let count = 0;
    let names: readonly string[] = [];
    const take = (node: number): void => {
      count += this.#counts[node] ?? 0;
      for (const name of this.#names[node] ?? []) names = withName(names, name);
    };
    let [left, right] = [this.#length + from, this.#length + to];
    while (left < right) {
      if (left % 2 === 1) take(left++);
      if (right % 2 === 1) take(--right);
      left >>= 1;
      right >>= 1;
    }
    return { count, names };
  }
}

function withName(names: readonly string[], name: string): readonly string[] {
  return [...names, name].toSorted(compare).slice(0, SHOWN);
}
