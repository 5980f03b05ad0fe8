import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CertificateRequest, GeneralName, StringType } from '../../../lambdas/x509/certificate-request.ts';
import { decodeCertificateRequest } from '../../../lambdas/x509/decode-certificate-request.ts';
import { readWithPeculiar } from '../../peculiar.ts';
import { runs } from '../../runs.ts';
import { constructed, integer, sequence } from './der-writer.ts';
import { mutatedRequest } from './mutations.ts';
import {
  extensionRequest,
  makeRequest,
  name,
  type RequestOptions,
  type San,
  type StringForm,
  subjectAltName,
  toPem,
} from './request-factory.ts';
import { inAnotherForm, SEMANTIC_CHANGES } from './semantic-changes.ts';

const RUNS = runs(200);
const SEED = 20_261_122;
const SUBJECT_ALT_NAME = '2.5.29.17';

const OWN: RequestOptions = {
  commonName: 'system:node:node-1',
  sans: [
    { kind: 'dNSName', value: 'node-1' },
    { kind: 'iPAddress', value: '10.0.0.1' },
  ],
};
const foreign = fc.constantFrom<San>(
  { kind: 'dNSName', value: 'node-2' },
  { kind: 'dNSName', value: 'kubernetes' },
  { kind: 'iPAddress', value: '10.0.0.2' },
  { kind: 'iPAddress', value: 'fd00::2' },
);
const noise = fc.nat(0xffff);

const FORMS: Readonly<Record<Exclude<StringType, 'other'>, StringForm>> = {
  UTF8String: 'utf8String',
  PrintableString: 'printableString',
  IA5String: 'ia5String',
  NumericString: 'numericString',
  TeletexString: 'teletexString',
  BMPString: 'bmpString',
  UniversalString: 'universalString',
};

/**
 * The signed part of a request, written from nothing but what was read of it. Undefined where that is less than the bytes: an extension beside subjectAltName, or a
 * value that is no text, which are only named.
 */
function written({ subject, extensions, subjectAltNames, publicKeyInfo }: CertificateRequest): Buffer | undefined {
  if (extensions.some(({ oid }) => oid !== SUBJECT_ALT_NAME)) return undefined;
  const sans = subjectAltNames.map(sanOf);
  if (sans.includes(undefined)) return undefined;
  const rdns = subject.map((rdn) =>
    rdn.map(({ oid, stringType, value }) =>
      stringType === 'other' ? undefined : { oid, value, form: FORMS[stringType] },
    ),
  );
  if (rdns.flat().includes(undefined)) return undefined;
  const attributes = extensions.map(({ critical }) =>
    extensionRequest(
      subjectAltName(
        sans.filter((san) => san !== undefined),
        critical,
      ),
    ),
  );
  return sequence(
    integer(0),
    name(rdns.map((rdn) => rdn.filter((pair) => pair !== undefined))),
    publicKeyInfo,
    constructed(0, ...attributes),
  );
}

function sanOf(found: GeneralName): San | undefined {
  return 'value' in found ? found : undefined;
}

/** Whatever is accepted was understood to its last byte: written again from what was read, it is the same. */
function expectWhole(pem: Buffer): 'refused' | 'opaque' | 'whole' {
  const result = decodeCertificateRequest(pem);
  if (!result.ok) return 'refused';
  const again = written(result.request);
  if (again === undefined) return 'opaque';
  expect(again.toString('hex')).toBe(Buffer.from(result.request.toBeSigned).toString('hex'));
  return 'whole';
}

it('the request that is changed is accepted, and whole', () => {
  expect(expectWhole(makeRequest(OWN).pem)).toBe('whole');
});

describe('a request that means something else to another reader is refused, or read whole', () => {
  it.each(Object.entries(SEMANTIC_CHANGES))('%s', (_, change) => {
    const honest = decodeCertificateRequest(makeRequest(OWN).pem);
    if (!honest.ok) throw new Error(honest.refusal.message);
    const { toBeSigned: _signed, signature: _signature, ...reading } = honest.request;
    fc.assert(
      fc.property(foreign, noise, (other, choice) => {
        const { pem, der } = makeRequest(change(OWN, other, choice));
        const whole = expectWhole(pem);
        const result = decodeCertificateRequest(pem);
        if (!result.ok) return;
        // What was added is seen: it does not read as what the honest kubelet sends.
        const { toBeSigned: _toBeSigned, signature: _own, ...changed } = result.request;
        expect(changed).not.toEqual(reading);
        if (whole !== 'whole') return;
        // The second reader knows of no name that we do not know of.
        const known = result.request.subjectAltNames.flatMap((found) => ('value' in found ? [found.value] : []));
        expect(known).toEqual(
          readWithPeculiar(der).subjectAltNames.map(({ value }) => value.replace('fd00:0:0:0:0:0:0:2', 'fd00::2')),
        );
      }),
      { seed: SEED, numRuns: 64 },
    );
  });
});

it('a value in a form that DER does not have is refused, wherever it stands', () => {
  const key = fc.constantFrom('p256' as const, 'ed25519' as const);
  // Not fc.double, which picks among all doubles: nearly all of them are near 0.
  const at = fc.nat({ max: 65_535 }).map((share) => share / 65_536);
  fc.assert(
    fc.property(key, at, noise, (kind, share, choice) => {
      expect(decodeCertificateRequest(toPem(inAnotherForm({ ...OWN, key: kind }, share, choice))).ok).toBe(false);
    }),
    { seed: SEED, numRuns: 1_000 },
  );
});

it(`whatever is accepted of ${RUNS} mutated requests is read to its last byte`, () => {
  const counts = { refused: 0, opaque: 0, whole: 0 };
  fc.assert(
    fc.property(mutatedRequest, (pem) => {
      counts[expectWhole(pem)] += 1;
    }),
    { seed: SEED, numRuns: RUNS },
  );
  // If hardly any mutation were accepted, it would say nothing.
  expect(counts.whole).toBeGreaterThan(RUNS / 20);
});
