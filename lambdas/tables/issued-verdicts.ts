import { keysOf } from './keys.ts';

interface VerdictEntry {
  /** For people, of several certificates: `12 proven`. */
  readonly title: string;
  readonly meaning: string;
}

/** What is said of a kubelet serving certificate that was issued, from the worst on. */
export const ISSUED = {
  'names-another': {
    title: "names another's",
    meaning:
      'A name or address in it belongs to another node, to the API server or to a Service, or it makes its holder more than its node.',
  },
  'not-proven': { title: 'not proven', meaning: 'Evidence was read, and proves not every name in it.' },
  'no-longer-proven': {
    title: 'no longer proven',
    meaning: 'Every name was proven before. Names and addresses move, and the certificate stays.',
  },
  unknown: { title: 'unknown', meaning: 'What would tell cannot be read, or cannot tell yet.' },
  proven: { title: 'proven', meaning: 'Every name in it belongs to its node.' },
} as const satisfies Record<string, VerdictEntry>;

export type IssuedVerdict = keyof typeof ISSUED;
export const ISSUED_VERDICTS = keysOf(ISSUED);
