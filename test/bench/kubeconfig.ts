import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';
import { type Figure, figure } from './statistics.ts';

const SIZE = 64 * 1024;
const RUNS = 15;

/** Shapes for which a YAML parser takes longest: as large as a secret may be, and just below the limit of marks. */
const SHAPES: readonly (readonly [name: string, mark: string])[] = [
  ['nested flow lists', '['],
  ['nested flow maps', '{a: '],
  ['nested lists', '- '],
  ['explicit keys', '? '],
  ['directives', '%A\n'],
  ['documents', '---\n'],
  ['empty lines', '\n'],
  ['anchors', '&a '],
  ['quotes', '"" '],
  ['line continuations', '\\\n'],
];
/** So many of each that every shape is parsed. */
const MARKS = 790;
const SLOW_MARKS = 100;

/** How long a kubeconfig that someone else wrote keeps everything else waiting. */
export async function benchKubeconfig(say: (text: string) => void): Promise<Figure[]> {
  return SHAPES.flatMap(([name, mark]) => {
    say(name);
    const most = /[[{&*!%?\\]/.test(mark) ? SLOW_MARKS : MARKS;
    const marks = mark.replaceAll(/[A-Za-z ]/g, '').length;
    return [
      [`${name}, 64 KiB`, mark.repeat(SIZE).slice(0, SIZE)] as const,
      [`${name}, ${most} marks`, `a: ${mark.repeat(Math.floor(most / marks))}`.padEnd(SIZE)] as const,
    ].map(([what, text]) =>
      figure(what, 'ms', Array.from({ length: RUNS }, () => refusalMs(text)).slice(5), {
        text: '≤ 50',
        met: (ms) => ms <= 50,
      }),
    );
  });
}

function refusalMs(text: string): number {
  const startedAt = performance.now();
  try {
    loadSecretKubeconfig(text);
  } catch {
    return performance.now() - startedAt;
  }
  throw new Error('a kubeconfig of nothing but marks was taken');
}
