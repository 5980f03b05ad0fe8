import { stripTypeScriptTypes } from 'node:module';
import { parseAst } from 'vitest/node';

/** A regular expression as a source file has it. */
export interface Literal {
  readonly source: string;
  readonly flags: string;
}

/** The literals of a TypeScript module. */
export function literalsIn(typescript: string): readonly Literal[] {
  const found: Literal[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('regex' in node) {
      const { pattern, flags } = node.regex as { pattern: string; flags: string };
      found.push({ source: pattern, flags });
    }
    for (const child of Object.values(node)) walk(child);
  };
  walk(parseAst(stripTypeScriptTypes(typescript)));
  return found;
}

/** One character of a pattern, as the places of the sample that it takes. */
type Symbols = ReadonlySet<number>;
type Tree =
  | { readonly kind: 'empty' }
  | { readonly kind: 'one'; readonly symbols: Symbols }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Tree[] }
  | { readonly kind: 'repeat' | 'optional'; readonly of: Tree };

/** ASCII, and a letter, a space, a line, a format character, half a pair and a pair beyond it. */
const SAMPLE = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCodePoint(code)),
  'é',
  '\u00a0',
  '\u2028',
  '\u200b',
  '\ud800',
  '😀',
];
const EMPTY: Tree = { kind: 'empty' };
/** More copies of what is repeated a bounded number of times say nothing new of what is ambiguous. */
const MAX_COPIES = 2;

/** Reads the syntax that is used here; look-arounds are read on their own, for they take no character. */
function treesOf({ source, flags }: Literal): readonly Tree[] {
  const asides: Tree[] = [];
  const setFlags = flags.replaceAll(/[gyd]/g, '');
  const atoms = new Map<string, Tree>();
  let at = 0;

  const one = (atom: string): Tree => {
    let tree = atoms.get(atom);
    if (tree === undefined) {
      const test = new RegExp(`^(?:${atom})$`, setFlags);
      tree = { kind: 'one', symbols: new Set(SAMPLE.flatMap((text, index) => (test.test(text) ? [index] : []))) };
      atoms.set(atom, tree);
    }
    return tree;
  };
  const take = (pattern: RegExp): string | undefined => {
    const sticky = new RegExp(pattern.source, 'y');
    sticky.lastIndex = at;
    const [text] = sticky.exec(source) ?? [];
    at += text?.length ?? 0;
    return text;
  };
  const alternatives = (): Tree => {
    const of = [sequence()];
    while (take(/\|/) !== undefined) of.push(sequence());
    return of.length === 1 ? (of[0] ?? EMPTY) : { kind: 'any', of };
  };
  const sequence = (): Tree => {
    const of: Tree[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') of.push(quantified(term()));
    return { kind: 'all', of };
  };
  const term = (): Tree => {
    if (take(/\\[bB]|[$^]/) !== undefined) return EMPTY;
    const group = take(/\((?:\?(?:<?[=!]|:|<\w+>))?/);
    if (group === undefined) {
      const atom = take(
        /\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u\w{4}|\\x\w{2}|\\c\w|\\[^1-9k]|[^\\[()]/u,
      );
      if (atom === undefined) throw new Error(`not read at ${at}: ${source}`);
      return one(atom);
    }
    const inner = alternatives();
    if (take(/\)/) === undefined) throw new Error(`no end of a group: ${source}`);
    if (!/[=!]$/.test(group)) return inner;
    asides.push(inner);
    return EMPTY;
  };
  const quantified = (tree: Tree): Tree => {
    const quantifier = take(/[*+?]\??|\{\d+(?:,\d*)?\}\??/);
    if (quantifier === undefined) return tree;
    const { least, most } = /^\{(?<least>\d+)(?:,(?<most>\d*))?\}/.exec(quantifier)?.groups ?? {};
    const isExact = least !== undefined && !quantifier.includes(',');
    const from = least === undefined ? (quantifier.startsWith('+') ? 1 : 0) : Number(least);
    const isEndless = /^[*+]/.test(quantifier) || (!isExact && most === '');
    if (isEndless && from <= 1) {
      const repeat: Tree = { kind: 'repeat', of: tree };
      return from === 0 ? { kind: 'optional', of: repeat } : repeat;
    }
    const to = quantifier.startsWith('?') ? 1 : isExact ? from : Number(most);
    // One in the other: `a{0,2}` reads as `(?:aa?)?`, which takes each text in one way.
    const rest = isEndless
      ? ({ kind: 'optional', of: { kind: 'repeat', of: tree } } as const)
      : Array.from({ length: Math.min(to - from, MAX_COPIES) }).reduce<Tree>(
          (inner) => ({ kind: 'optional', of: { kind: 'all', of: [tree, inner] } }),
          EMPTY,
        );
    return { kind: 'all', of: [...Array.from({ length: Math.min(from, MAX_COPIES) }, () => tree), rest] };
  };

  const whole = alternatives();
  if (at < source.length) throw new Error(`not read at ${at}: ${source}`);
  return [whole, ...asides];
}

interface Automaton {
  readonly symbols: Symbols[];
  /** From each place to the next ones, and in how many ways. */
  readonly next: Map<number, number>[];
}

interface Ends {
  readonly isEmpty: boolean;
  readonly first: readonly number[];
  readonly last: readonly number[];
}

/** Glushkov's automaton, which has one place for each character of the pattern and reads one with each step. */
function automatonOf(tree: Tree): Automaton {
  const made: Automaton = { symbols: [], next: [] };
  const join = (from: readonly number[], to: readonly number[]): void => {
    for (const a of from) for (const b of to) made.next[a]?.set(b, (made.next[a].get(b) ?? 0) + 1);
  };
  const build = (part: Tree): Ends => {
    switch (part.kind) {
      case 'empty':
        return { isEmpty: true, first: [], last: [] };
      case 'one': {
        const place = made.symbols.push(part.symbols) - 1;
        made.next.push(new Map());
        return { isEmpty: false, first: [place], last: [place] };
      }
      case 'optional':
        return { ...build(part.of), isEmpty: true };
      case 'repeat': {
        const ends = build(part.of);
        join(ends.last, ends.first);
        return ends;
      }
      case 'any': {
        const all = part.of.map(build);
        return {
          isEmpty: all.some(({ isEmpty }) => isEmpty),
          first: all.flatMap(({ first }) => first),
          last: all.flatMap(({ last }) => last),
        };
      }
      case 'all':
        return part.of.map(build).reduce(
          (before, after) => {
            join(before.last, after.first);
            return {
              isEmpty: before.isEmpty && after.isEmpty,
              first: before.isEmpty ? [...before.first, ...after.first] : before.first,
              last: after.isEmpty ? [...before.last, ...after.last] : after.last,
            };
          },
          { isEmpty: true, first: [], last: [] },
        );
    }
  };
  build(tree);
  return made;
}

/**
 * Whether a backtracking matcher may need exponential time: some text leads in two ways from a place of the pattern back to it, so that with each repetition of it the
 * ways double. Exact for what {@link treesOf} reads, bounded repetitions excepted, which are cut short.
 */
export function isExponential(literal: Literal): boolean {
  return treesOf(literal).some((tree) => doubles(automatonOf(tree)));
}

function doubles({ symbols, next }: Automaton): boolean {
  const count = symbols.length;
  const meets = (a: number, b: number): boolean =>
    a === b || [...(symbols[a] ?? [])].some((symbol) => symbols[b]?.has(symbol) === true);
  const steps = (pair: number): readonly number[] => {
    const [a, b] = [Math.floor(pair / count), pair % count];
    const found: number[] = [];
    for (const to of next[a]?.keys() ?? [])
      for (const other of next[b]?.keys() ?? []) if (meets(to, other)) found.push(to * count + other);
    return found;
  };
  const reachable = (from: number): ReadonlySet<number> => {
    const seen = new Set<number>();
    const open = [...steps(from)];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      if (seen.has(pair)) continue;
      seen.add(pair);
      open.push(...steps(pair));
    }
    return seen;
  };
  for (let place = 0; place < count; place += 1) {
    const home = place * count + place;
    const seen = reachable(home);
    if (!seen.has(home)) continue;
    for (const pair of seen) {
      const [a, b] = [Math.floor(pair / count), pair % count];
      const isTwice = a === b && [...(next[a] ?? [])].some(([to, ways]) => ways > 1 && leads(next, to, place));
      if ((a !== b && reachable(pair).has(home)) || (isTwice && leads(next, a, place))) return true;
    }
  }
  return false;
}

/** Whether there is a way, of any length, from one place to another. */
function leads(next: Automaton['next'], from: number, to: number): boolean {
  const seen = new Set<number>();
  const open = [from];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (place === to) return true;
    if (seen.has(place)) continue;
    seen.add(place);
    open.push(...(next[place]?.keys() ?? []));
  }
  return false;
}
