import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenSigner } from '../../../lambdas/aws/eks-token.ts';
import { tokenOf, tokenRefusal, urlOf } from './authenticator.ts';
import { awsFailure } from './failure.ts';

const NOW = Date.parse('2026-11-21T09:00:00Z');
const MINUTE = 60_000;
const IDENTITY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLE//token+with/base64==',
};
const SHORT = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'secret', sessionToken: 't' };
const { sessionToken: _, ...USER } = IDENTITY;

/** A signer with a clock, and credentials whose end can be told. */
function signer(identity: { expiration?: Date } = {}) {
  let now = NOW;
  let asked = 0;
  const credentials = async () => {
    asked += 1;
    return { ...IDENTITY, ...identity };
  };
  return {
    sign: createTokenSigner({ credentials, now: () => now }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    asked: () => asked,
  };
}

describe('createTokenSigner', () => {
  // Signatures of botocore 1.44.5: RequestSigner('sts', region, 'sts', 'v4', …).generate_presigned_url of the same request at NOW, expires_in=60.
  it.each([
    [
      'eu-central-1',
      'amazonaws.com',
      'dublin',
      IDENTITY,
      '732afd18a5b3f5e77e1729de749335760b400ef6c3c8d4d35c8cfced424d7716',
    ],
    [
      'us-east-1',
      'amazonaws.com',
      'a1b2c3d4-5678-90ab-cdef-111122223333',
      USER,
      'd48a4edc8a71ae496ee26fd0fa824179a5a9e4e7868288094bfbeeee16cc2b10',
    ],
    [
      'cn-north-1',
      'amazonaws.com.cn',
      'beijing',
      SHORT,
      '60197c13ebd5686bbe468d070d4df8027c85a54c3885df062ebcfce53f8130a5',
    ],
    [
      'us-gov-west-1',
      'amazonaws.com',
      'gov',
      SHORT,
      '422e17c9ee258181a0af13884bb4a25aa0176059c3a566e38bbc724ba07df712',
    ],
    ['us-iso-east-1', 'c2s.ic.gov', 'iso', SHORT, 'bd35703db2acd7858c8a1dec7f340b2b438d7779bdd46ba57dadb5f6b08eca61'],
    [
      'eusc-de-east-1',
      'amazonaws.eu',
      'sovereign',
      SHORT,
      'dba9f7abe8747995fe801689cae8337fdef81748eb45e9f86d735e98e7620093',
    ],
  ])('signs in %s (%s) as botocore does', async (region, suffix, id, identity, signature) => {
    const sign = createTokenSigner({ credentials: async () => identity, now: () => NOW });
    const token = await sign(id, region);
    const url = urlOf(token);
    expect(url.host).toBe(`sts.${region}.${suffix}`);
    expect(url.searchParams.get('X-Amz-Signature')).toBe(signature);
    expect(url.searchParams.get('X-Amz-SignedHeaders')).toBe('host;x-k8s-aws-id');
    expect(tokenRefusal(token, [url.host], NOW)).toBeUndefined();
  });

  it('makes tokens that an authenticator does not refuse, of any credentials', async () => {
    const text = fc.string({ unit: fc.constantFrom(...'abzAZ059+/='.split('')), minLength: 1, maxLength: 1500 });
    const property = fc.asyncProperty(
      text,
      text,
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/),
      async (secret, token, id) => {
        const credentials = async () => ({ accessKeyId: 'ASIAEXAMPLE', secretAccessKey: secret, sessionToken: token });
        const signed = await createTokenSigner({ credentials, now: () => NOW })(id, 'eu-central-1');
        expect(tokenRefusal(signed, ['sts.eu-central-1.amazonaws.com'], NOW)).toBeUndefined();
        expect(urlOf(signed).searchParams.get('X-Amz-Security-Token')).toBe(token);
      },
    );
    await fc.assert(property, { seed: 15, numRuns: 100 });
  });

  it('keeps a token for 13 minutes', async () => {
    const { sign, pass } = signer();
    const first = await sign('dublin', 'eu-central-1');
    pass(13 * MINUTE - 1);
    expect(await sign('dublin', 'eu-central-1')).toBe(first);
    pass(1);
    const second = await sign('dublin', 'eu-central-1');
    expect(second).not.toBe(first);
    expect(urlOf(second).searchParams.get('X-Amz-Date')).toBe('20261121T091300Z');
  });

  it('gives each cluster and Region its own', async () => {
    const { sign } = signer();
    const tokens = [await sign('a', 'eu-central-1'), await sign('b', 'eu-central-1'), await sign('a', 'eu-west-1')];
    expect(new Set(tokens).size).toBe(3);
  });

  it('keeps no token longer than the credentials, less a minute', async () => {
    const { sign, pass, asked } = signer({ expiration: new Date(NOW + 5 * MINUTE) });
    await sign('dublin', 'eu-central-1');
    pass(4 * MINUTE - 1);
    await sign('dublin', 'eu-central-1');
    expect(asked()).toBe(1);
    pass(1);
    await sign('dublin', 'eu-central-1');
    expect(asked()).toBe(2);
  });

  it('signs nothing with credentials that have ended', async () => {
    const { sign } = signer({ expiration: new Date(NOW) });
    expect(await awsFailure(sign('dublin', 'eu-central-1'))).toMatchObject({ kind: 'expired' });
  });

  it('keeps a bounded number of tokens', async () => {
    const { sign, asked } = signer();
    for (let index = 0; index <= 1000; index += 1) await sign(`c${index}`, 'eu-central-1');
    await sign('c1', 'eu-central-1');
    expect(asked()).toBe(1001);
    await sign('c0', 'eu-central-1');
    expect(asked()).toBe(1002);
  });

  it.each([
    ['an empty id', '', 'eu-central-1'],
    ['a line break', 'a\r\nhost: b', 'eu-central-1'],
    ['a Region that is a host', 'dublin', 'x.example.com/'],
    ['an empty Region', 'dublin', ''],
  ])('refuses %s', async (__, id, region) => {
    expect(await awsFailure(signer().sign(id, region))).toMatchObject({ kind: 'invalid' });
  });

  it('refuses to make a token that is too large', async () => {
    const credentials = async () => ({ ...IDENTITY, sessionToken: 'x'.repeat(4000) });
    const error = await awsFailure(createTokenSigner({ credentials })('dublin', 'eu-central-1'));
    expect(error).toMatchObject({ kind: 'invalid', problem: 'it is longer than 4096 bytes' });
  });

  it('says that there are no credentials, and no more', async () => {
    const credentials = async () => {
      throw Object.assign(new Error('SENTINEL'), { name: 'CredentialsProviderError' });
    };
    const error = await awsFailure(createTokenSigner({ credentials })('dublin', 'eu-central-1'));
    expect(error).toMatchObject({ kind: 'expired' });
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('SENTINEL');
  });
});

describe('tokenRefusal', () => {
  it.each([
    ['too large', (url: URL) => `${tokenOf(url)}${'A'.repeat(4096)}`],
    ['prefix', (url: URL) => tokenOf(url).replace('v1', 'v2')],
    ['not unpadded base64url', (url: URL) => `${tokenOf(url)}=`],
    ['scheme', (url: URL) => tokenOf(String(url).replace('https', 'http'))],
    ['host', (url: URL) => tokenOf(String(url).replace('sts.', 'sts-'))],
    ['path', (url: URL) => tokenOf(String(url).replace('/?', '/x?'))],
    ['non-whitelisted x-id', (url: URL) => tokenOf(`${String(url)}&x-id=GetCallerIdentity`)],
    ['duplicate action', (url: URL) => tokenOf(`${String(url)}&action=GetCallerIdentity`)],
    ['id is not signed', (url: URL) => tokenOf(String(url).replace('%3Bx-k8s-aws-id', ''))],
    ['expires', (url: URL) => tokenOf(String(url).replace('Expires=60', 'Expires=901'))],
    ['expired', (url: URL) => tokenOf(String(url).replace('T0900', 'T0844'))],
  ])('tells %s', async (refusal, broken) => {
    const url = urlOf(await signer().sign('dublin', 'eu-central-1'));
    expect(tokenRefusal(broken(url), ['sts.eu-central-1.amazonaws.com'], NOW)).toBe(refusal);
  });
});
