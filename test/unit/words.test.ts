import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

const ROOT = join(import.meta.dirname, '../..');

/** What is read: files, and folders with all that is in them. */
const ROOTS = [
  'bin',
  'lambdas',
  'lib',
  'docs',
  'fleet.yaml',
  'examples',
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
];

const TABLE = '\n## Words\n';
const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

/** Each word of the table in CONTRIBUTING.md, with what is written instead. */
const words = (contributing.split(TABLE)[1] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .flatMap((line) => {
    const [, old = '', instead = ''] = line.split('|').map((cell) => cell.trim());
    return old.split(', ').map((word) => ({
      pattern: new RegExp(String.raw`\b${word.replaceAll(' ', String.raw`\s+`)}\b`, 'gi'),
      instead,
    }));
  });

interface Text {
  readonly text: string;
  /** Where it begins in its file. */
  readonly start: number;
}

/** String literals, and the parts of templates between their expressions. */
function textsOf(node: unknown): readonly Text[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('type' in node && 'start' in node && typeof node.start === 'number') {
    // After the quote, or the brace of the expression before it.
    const start = node.start + 1;
    if (node.type === 'Literal' && 'value' in node && typeof node.value === 'string')
      return [{ text: node.value, start }];
    if (node.type === 'TemplateElement' && 'value' in node) {
      const { value } = node;
      if (typeof value === 'object' && value !== null && 'raw' in value) return [{ text: String(value.raw), start }];
    }
  }
  return Object.values(node).flatMap(textsOf);
}

/** Comments. What looks like one in a string is found twice, which does no harm. */
function commentsOf(source: string): readonly Text[] {
  return [...source.matchAll(/\/\*[^]*?\*\/|\/\/.*/g)].map(({ 0: text, index }) => ({ text, start: index }));
}

function filesOf(root: string): readonly string[] {
  if (statSync(join(ROOT, root)).isFile()) return [root];
  return readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' })
    .map((file) => join(root, file))
    .filter((file) => /\.(?:ts|md|yaml)$/.test(file))
    .toSorted();
}

/** `file:line: the word; write …` for each word of the table. */
function oldWords(file: string, source: string): readonly string[] {
  const prose = file === 'CONTRIBUTING.md' ? (source.split(TABLE)[0] ?? '') : source;
  const texts = file.endsWith('.ts')
    ? [...textsOf(parseAst(source, { lang: 'ts' })), ...commentsOf(source)]
    : [{ text: prose, start: 0 }];
  return texts.flatMap(({ text, start }) =>
    words.flatMap(({ pattern, instead }) =>
      [...text.matchAll(pattern)].map(({ 0: word, index }) => {
        const line = source.slice(0, start + index).split('\n').length;
        return `${file}:${line}: ${word}; write ${instead}`;
      }),
    ),
  );
}

it('finds an old word in a literal, a template, a comment and prose, and nothing in code', () => {
  const source = "const nobody = 1;\nconst a = 'Mend it';\nconst b = `${nobody} of the alarms\nrings`;\n";
  expect(oldWords('x.ts', source)).toEqual(['x.ts:2: Mend; write fix, renew, replace', 'x.ts:4: rings; write fires']);
  expect(oldWords('x.ts', '/** What\n * bites. */\nconst a = 1; // nobody')).toEqual([
    'x.ts:2: bites; write expires, is due',
    'x.ts:3: nobody; write no one, or a passive',
  ]);
  expect(oldWords('x.md', 'A certificate\nends.')).toEqual(['x.md:1: certificate\nends; write expires, expired']);
});

it.each(ROOTS)('%s has no old word', (root) => {
  expect(filesOf(root).flatMap((file) => oldWords(file, readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});
