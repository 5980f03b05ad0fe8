import { SocketAddress } from 'node:net';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CertificateRequest } from '../../../lambdas/x509/certificate-request.ts';
import { decodeCertificateRequest, decodePem } from '../../../lambdas/x509/decode-certificate-request.ts';
import { verifyRequestSignature } from '../../../lambdas/x509/verify-signature.ts';
import { readWithPeculiar, type SecondReading } from '../../peculiar.ts';
import { runs } from '../../runs.ts';
import { functionCalls } from '../function-calls.ts';
import { mutatedRequest, requestOptions } from './mutations.ts';
import { addressBytes, makeRequest, OID } from './request-factory.ts';

const RUNS = runs(1_000);
const SEED = 20_260_707;

/** Requests whose function calls are counted together. */
const COUNTED = Math.min(500, RUNS);

/** Of decoding and verifying these requests. */
function callsPerByte(pems: readonly Buffer[]): number {
  const calls = functionCalls(() => {
    for (const pem of pems) {
      const result = decodeCertificateRequest(pem);
      if (result.ok) verifyRequestSignature(result.request);
    }
  });
  return calls / Buffer.concat(pems).length;
}

/** The short names that the second reader gives attribute types. */
const SHORT: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.4': 'SN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.12': 'T',
  '2.5.4.42': 'G',
  '2.5.4.43': 'I',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'E',
};

const TYPES: Readonly<Record<string, string>> = {
  dNSName: 'dns',
  iPAddress: 'ip',
  rfc822Name: 'email',
  uniformResourceIdentifier: 'url',
};

/**
 * Our reading in the second reader's words. Undefined where that one does not read but pass over, or reads what we
 * pass over: a value that is no text, a name that is no text, and what is inside other extensions.
 */
function asSecondReading({ subject, extensions, subjectAltNames }: CertificateRequest): SecondReading | undefined {
  if (subject.flat().some(({ stringType }) => stringType === 'other' || stringType === 'NumericString'))
    return undefined;
  if (extensions.some(({ oid }) => oid !== OID.subjectAltName)) return undefined;
  const names = subjectAltNames.flatMap((name) =>
    'value' in name ? [{ type: TYPES[name.kind] ?? name.kind, value: name.value }] : [],
  );
  if (names.length < subjectAltNames.length) return undefined;
  const rdns = subject.map((rdn) => {
    const values: Record<string, string[]> = {};
    for (const { oid, value } of rdn) (values[SHORT[oid] ?? oid] ??= []).push(value);
    return values;
  });
  return { subject: rdns, extensions, subjectAltNames: names };
}

/** The second reader writes IPv6 in other forms; the value is compared. */
function secondReading(der: Buffer): SecondReading {
  const reading = readWithPeculiar(der);
  const subjectAltNames = reading.subjectAltNames.map(({ type, value }) =>
    type === 'ip' && value.includes(':')
      ? { type, value: new SocketAddress({ address: value, family: 'ipv6' }).address }
      : { type, value },
  );
  return { ...reading, subjectAltNames };
}

it(`${RUNS} mutated requests: a value each time, for a few function calls a byte, and what is accepted is read alike by a second decoder`, () => {
  const uncounted: Buffer[] = [];
  let most = 0;
  let compared = 0;
  let verified = 0;
  fc.assert(
    fc.property(mutatedRequest, (pem) => {
      if (uncounted.push(pem) === COUNTED) most = Math.max(most, callsPerByte(uncounted.splice(0)));
      const result = decodeCertificateRequest(pem);
      const message = result.ok ? 'accepted' : result.refusal.message;
      expect(message).toMatch(/^[\x20-\x7e]{1,500}$/);
      const ours = result.ok ? asSecondReading(result.request) : undefined;
      if (!result.ok || ours === undefined) return;
      compared += 1;
      if (verifyRequestSignature(result.request).valid) verified += 1;
      expect(secondReading(decodePem(pem))).toEqual(ours);
    }),
    { numRuns: RUNS, seed: SEED },
  );
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(1);
  // If hardly any mutation were accepted, the comparison would say nothing.
  expect(compared).toBeGreaterThan(RUNS / 20);
  expect(verified).toBeGreaterThan(RUNS / 40);
});

it('requests that are not mutated are accepted, say what was put in, and verify', () => {
  fc.assert(
    fc.property(requestOptions, (options) => {
      const { pem, der } = makeRequest(options);
      const result = decodeCertificateRequest(pem);
      if (!result.ok) throw new Error(result.refusal.message);
      const { request } = result;
      expect(verifyRequestSignature(request)).toEqual({ valid: true });
      expect(request.subject.flat().map(({ value }) => value)).toEqual([...options.organizations, options.commonName]);
      expect(request.subjectAltNames.map(comparable)).toEqual(options.sans.map(comparable));
      const ours = asSecondReading(request);
      expect(ours === undefined ? undefined : secondReading(der)).toEqual(ours);
    }),
    { numRuns: runs(500), seed: SEED },
  );
});

function comparable(name: { readonly kind: string; readonly value?: string | Uint8Array }): unknown {
  const { kind, value } = name;
  return kind === 'iPAddress' && typeof value === 'string' ? addressBytes(value).toString('hex') : [kind, value];
}
