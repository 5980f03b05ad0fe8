import { keysOf } from './keys.ts';

/** Verdicts on an issued kubelet serving certificate, the worst first. A title is for several: `12 proven`. */
export const ISSUED = {
  'names-another': {
    title: "another node's name",
    meaning:
      'A name or address in it belongs to another node, to the API server or to a Service, or it gives more rights than its node has.',
  },
  'not-proven': { title: 'not proven', meaning: 'Evidence was read, but does not prove every name in it.' },
  unknown: { title: 'unknown', meaning: 'The evidence cannot be read, or cannot tell.' },
  proven: { title: 'proven', meaning: 'Every name in it belongs to its node.' },
} as const satisfies Record<string, { readonly title: string; readonly meaning: string }>;

export type IssuedVerdict = keyof typeof ISSUED;
export const ISSUED_VERDICTS = keysOf(ISSUED);

/** Whether evidence is against it: a finding. */
export function isBad(verdict: IssuedVerdict | undefined): boolean {
  return verdict === 'names-another' || verdict === 'not-proven';
}
