import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult, X509Certificate } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Certificate } from '../../../lambdas/x509/certificate.ts';
import { decodeCertificate } from '../../../lambdas/x509/decode-certificate.ts';
import {
  isIssuedBy,
  isSelfSigned,
  leadsTo,
  possibleIssuers,
  VERIFICATIONS_A_HANDSHAKE,
  verifications,
} from '../../../lambdas/x509/issued-by.ts';
import { certificate, cn, name } from './certificate-writer.ts';
import { sequence, tlv } from './der-writer.ts';
import { extension } from './request-factory.ts';

type Pair = KeyPairKeyObjectResult;
const pair = (namedCurve = 'P-256'): Pair => generateKeyPairSync('ec', { namedCurve });

interface Wanted {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: Pair;
  readonly signer: KeyObject;
  readonly serial?: number;
  readonly keyId?: number;
  readonly issuerKeyId?: number;
  readonly isAuthority?: boolean;
}

function made({ subject, issuer, keys, signer, serial = 1, keyId, issuerKeyId, isAuthority = true }: Wanted) {
  const decoded = decodeCertificate(
    certificate({
      subject: name(cn(subject)),
      issuer: name(cn(issuer)),
      serial: [serial],
      key: keys.publicKey.export({ format: 'der', type: 'spki' }),
      signer,
      extensions: [
        extension('2.5.29.19', isAuthority ? sequence(tlv(1, [0xff])) : sequence()),
        ...(keyId === undefined ? [] : [extension('2.5.29.14', tlv(4, [keyId]))]),
        ...(issuerKeyId === undefined ? [] : [extension('2.5.29.35', sequence(tlv(0x80, [issuerKeyId])))]),
      ],
    }),
  );
  if (!decoded.ok) throw new Error(decoded.problem);
  return decoded.certificate;
}

/** As many certificates of one name under one key as a chain may have. */
function crowd(keys: Pair): readonly Certificate[] {
  return Array.from({ length: 99 }, (_, serial) =>
    made({ subject: 'x', issuer: 'x', keys, signer: keys.privateKey, serial: serial + 1 }),
  );
}

function countOfVerify(): () => number {
  const verify = vi.spyOn(X509Certificate.prototype, 'verify');
  onTestFinished(() => verify.mockRestore());
  return () => verify.mock.calls.length;
}

const root = pair();
const authority = made({ subject: 'root', issuer: 'root', keys: root, signer: root.privateKey });

describe('a chain', () => {
  const keys = [pair(), pair('P-384'), pair()] as const;
  const first = made({ subject: 'i1', issuer: 'root', keys: keys[0], signer: root.privateKey });
  const second = made({ subject: 'i2', issuer: 'i1', keys: keys[1], signer: keys[0].privateKey });
  const leaf = made({ subject: 'leaf', issuer: 'i2', keys: keys[2], signer: keys[1].privateKey });

  test('is followed to its root, in whatever order it was sent', () => {
    for (const sent of [
      [second, first],
      [first, second, authority],
    ]) {
      const count = verifications();
      expect(leadsTo(leaf, sent, [authority], count)).toBe(true);
      expect(count.count).toBe(3);
    }
    expect(leadsTo(leaf, [second], [authority])).toBe(false);
    expect(leadsTo(leaf, [second, first], [])).toBe(false);
    expect(leadsTo(leaf, [], [leaf])).toBe(true);
  });

  test('is not followed through one of the same name that did not sign', () => {
    const sameName = made({ subject: 'i2', issuer: 'root', keys: keys[2], signer: root.privateKey });
    expect(leadsTo(leaf, [sameName], [authority])).toBe(false);
  });

  test('is found among authorities of one name by the identifier of the key first', () => {
    const own = made({ subject: 'ca', issuer: 'ca', keys: root, signer: root.privateKey, keyId: 7 });
    const others = crowd(pair()).map((_, keyId) => {
      const other = keys[keyId % 3] ?? root;
      return made({ subject: 'ca', issuer: 'ca', keys: other, signer: other.privateKey, keyId: keyId + 100 });
    });
    const issued = { subject: 'leaf', issuer: 'ca', keys: keys[2], signer: root.privateKey };
    const count = verifications();
    expect(leadsTo(made({ ...issued, issuerKeyId: 7 }), [], [...others, own], count)).toBe(true);
    expect(count.count).toBe(1);
    // An identifier may be wrong: Go takes it for a hint.
    expect(leadsTo(made({ ...issued, issuerKeyId: 99 }), [], [...others.slice(0, 5), own])).toBe(true);
  });

  test.each(['P-256', 'P-384', 'P-521', 'secp256k1', 'brainpoolP256r1'])('of %s', (namedCurve) => {
    const signer = pair(namedCurve);
    const ca = made({ subject: 'ca', issuer: 'ca', keys: signer, signer: signer.privateKey });
    expect(isSelfSigned(ca)).toBe(true);
    expect(leadsTo(made({ subject: 'leaf', issuer: 'ca', keys: keys[2], signer: signer.privateKey }), [], [ca])).toBe(
      true,
    );
  });

  test('is no longer than 8', () => {
    const long = Array.from({ length: 12 }, (_, index) =>
      made({
        subject: `c${index}`,
        issuer: index === 0 ? 'root' : `c${index - 1}`,
        keys: root,
        signer: root.privateKey,
      }),
    );
    expect(leadsTo(long[8] ?? leaf, long, [authority])).toBe(true);
    expect(leadsTo(long[9] ?? leaf, long, [authority])).toBe(false);
  });
});

describe('a server that sends 99 certificates of one name', () => {
  test('costs no more than a handshake may, and is not believed', () => {
    const calls = countOfVerify();
    const keys = pair();
    const [leaf, ...sent] = crowd(keys);
    if (leaf === undefined) throw new Error('no leaf');
    expect(leadsTo(leaf, sent, [authority])).toBeUndefined();
    expect(leadsTo(leaf, sent, crowd(pair()))).toBeUndefined();
    expect(calls()).toBe(2 * VERIFICATIONS_A_HANDSHAKE);
  });

  test('costs nothing where its key is of a kind that takes long', () => {
    const calls = countOfVerify();
    const [leaf, ...sent] = crowd(pair('sect571r1'));
    if (leaf === undefined) throw new Error('no leaf');
    expect(leadsTo(leaf, sent, [authority])).toBeUndefined();
    expect(isSelfSigned(leaf)).toBeUndefined();
    // They took 17 s, most of it in one turn of the event loop.
    expect(calls()).toBe(0);
  });
});

test('what was found out is not calculated again, and counts once', () => {
  const calls = countOfVerify();
  const count = verifications(1);
  const leaf = made({ subject: 'leaf', issuer: 'root', keys: pair(), signer: root.privateKey });
  expect([1, 2, 3].map(() => isIssuedBy(leaf, authority, count))).toEqual([true, true, true]);
  expect(isSelfSigned(authority, count)).toBeUndefined();
  expect(calls()).toBe(1);
  expect(count.count).toBe(1);
});

test('a chain by way of a certificate that is no authority leads to nothing', () => {
  const [between, own] = [pair(), pair()];
  const signed = { subject: 'node', issuer: 'root', keys: between, signer: root.privateKey };
  const leaf = made({ subject: 'leaf', issuer: 'node', keys: own, signer: between.privateKey });
  expect(leadsTo(leaf, [made(signed)], [authority])).toBe(true);
  expect(leadsTo(leaf, [made({ ...signed, isAuthority: false })], [authority])).toBe(false);
});

describe('possible issuers', () => {
  const keys = pair();
  const issuer = (keyId?: number) => made({ subject: 'root', issuer: 'root', keys, signer: keys.privateKey, keyId });
  const [other, named, unnamed] = [issuer(1), issuer(2), issuer()];
  const leaf = (issuerKeyId?: number) =>
    made({ subject: 'leaf', issuer: 'root', keys, signer: keys.privateKey, issuerKeyId });

  test('come first where their key is named, and last where another one is', () => {
    expect(possibleIssuers(leaf(2), [other, unnamed, named])).toEqual([named, unnamed, other]);
  });

  test('stay in their order where no key is named', () => {
    expect(possibleIssuers(leaf(), [other, unnamed, named])).toEqual([other, unnamed, named]);
  });
});
