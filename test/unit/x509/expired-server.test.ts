import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { proveExpired } from '../../../lambdas/x509/expired-server.ts';
import { certificate, cn, name, utcTime } from './certificate-writer.ts';
import { oid, sequence, tlv } from './der-writer.ts';
import { extension } from './request-factory.ts';

// What servers really send is tested with the client that asks: test/unit/kubernetes/expired-server.test.ts.
it.each([
  ['nothing', []],
  ['no certificate', [Buffer.from('no certificate')]],
])('proves nothing by %s', (_, chain) => {
  expect(proveExpired({ chain, authorities: [], now: 0 })).toMatchObject({ ok: false, code: 'CERT_REJECTED' });
});

describe('extensions as octets', () => {
  const keys = (): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [root, between, server] = [keys(), keys(), keys()];
  const NOW = Date.parse('2028-01-01T00:00:00Z');
  const SERVER_AUTH = extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1')));
  const basicConstraints = (...pathLength: number[]) =>
    extension('2.5.29.19', sequence(tlv(1, [0xff]), ...(pathLength.length === 0 ? [] : [tlv(2, pathLength)])));
  const made = (subject: string, own: KeyPairKeyObjectResult, issuer: string, by: typeof own, extensions: Buffer[]) =>
    certificate({
      subject: name(cn(subject)),
      issuer: name(cn(issuer)),
      key: own.publicKey.export({ format: 'der', type: 'spki' }),
      signer: by.privateKey,
      // The server's ended a year before, the others live.
      notAfter: utcTime(subject === 'server' ? '270101000000Z' : '360101000000Z'),
      extensions,
    });
  const codeOf = (chain: Buffer[], authorities: Buffer[]) => {
    const proof = proveExpired({ chain, authorities, now: NOW });
    return proof.ok ? 'proven' : proof.code;
  };

  it.each([
    ['digitalSignature', 0x80, 'proven'],
    ['nonRepudiation', 0x40, 'INVALID_PURPOSE'],
    ['keyEncipherment', 0x20, 'proven'],
    ['dataEncipherment', 0x10, 'INVALID_PURPOSE'],
    ['keyAgreement', 0x08, 'proven'],
    ['keyCertSign', 0x04, 'INVALID_PURPOSE'],
    ['encipherOnly', 0x01, 'INVALID_PURPOSE'],
  ])('of a server whose key usage is %s', (_, bits, expected) => {
    const usage = extension('2.5.29.15', tlv(3, [0, bits]));
    const leaf = made('server', server, 'root', root, [SERVER_AUTH, usage]);
    expect(codeOf([leaf], [made('root', root, 'root', root, [basicConstraints()])])).toBe(expected);
  });

  it.each([
    ['without a path length', [], 'proven'],
    ['for one authority below it', [1], 'proven'],
    ['for none', [0], 'PATH_LENGTH_EXCEEDED'],
    ['for less than none', [0xff], 'PATH_LENGTH_EXCEEDED'],
    ['for the least there is', [0x80], 'PATH_LENGTH_EXCEEDED'],
    ['for 256', [1, 0], 'PATH_LENGTH_EXCEEDED'],
  ])('of a root %s', (_, pathLength, expected) => {
    const leaf = made('server', server, 'between', between, [SERVER_AUTH]);
    const intermediate = made('between', between, 'root', root, [basicConstraints()]);
    expect(codeOf([leaf, intermediate], [made('root', root, 'root', root, [basicConstraints(...pathLength)])])).toBe(
      expected,
    );
  });

  it('of a server whose usual extensions are critical', () => {
    const critical = (type: string, value: Buffer) => extension(type, value, true);
    const leaf = made('server', server, 'root', root, [
      critical('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
      critical('2.5.29.15', tlv(3, [0, 0x80])),
      critical('2.5.29.17', sequence(tlv(0x82, Buffer.from('server')))),
      critical('2.5.29.19', sequence()),
    ]);
    expect(codeOf([leaf], [made('root', root, 'root', root, [basicConstraints()])])).toBe('proven');
  });

  it('of a chain with more than four CAs between', () => {
    const chain = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        made(`i${index}`, between, index === 0 ? 'root' : `i${index - 1}`, index === 0 ? root : between, [
          basicConstraints(),
        ]),
      );
    const under = (count: number) =>
      codeOf(
        [made('server', server, `i${count - 1}`, between, [SERVER_AUTH]), ...chain(count)],
        [made('root', root, 'root', root, [basicConstraints()])],
      );
    expect([under(4), under(5)]).toEqual(['proven', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']);
  });

  it('of a root that says that it is none, or of a server without extensions', () => {
    const leaf = (...extensions: Buffer[]) => made('server', server, 'root', root, extensions);
    const rootWith = (constraints: Buffer) => [made('root', root, 'root', root, [constraints])];
    expect(codeOf([leaf(SERVER_AUTH)], rootWith(extension('2.5.29.19', sequence(tlv(1, [0])))))).toBe('INVALID_CA');
    expect(codeOf([leaf()], rootWith(basicConstraints()))).toBe('proven');
  });

  it.each([
    ['is not critical', [], 'proven'],
    ['says that it is not', tlv(1, [0]), 'proven'],
    ['is critical', tlv(1, [0xff]), 'CERT_REJECTED'],
  ])('of a server with an unknown extension that %s', (_, critical, expected) => {
    const unknown = sequence(oid('1.2.3.4'), Buffer.from(critical), tlv(4, []));
    const leaf = made('server', server, 'root', root, [SERVER_AUTH, unknown]);
    expect(codeOf([leaf], [made('root', root, 'root', root, [basicConstraints()])])).toBe(expected);
  });

  it.each([
    ['server auth', '1.3.6.1.5.5.7.3.1', 'proven'],
    ['client auth alone', '1.3.6.1.5.5.7.3.2', 'INVALID_PURPOSE'],
    ['any usage, which OpenSSL does not take for it', '2.5.29.37.0', 'INVALID_PURPOSE'],
  ])('of authorities for %s', (_, usage, expected) => {
    const purpose = extension('2.5.29.37', sequence(oid(usage)));
    const leaf = made('server', server, 'root', root, [SERVER_AUTH]);
    expect(codeOf([leaf], [made('root', root, 'root', root, [basicConstraints(), purpose])])).toBe(expected);
  });
});
