import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import type { AwsScope } from '../../../lambdas/contracts/target.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import type { SimulatedEksAuthority } from '../../fleet/aws/eks.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { awsFailure } from './failure.ts';
import { type HttpAnswer, type HttpCall, json, jsonRefusal, startHttpService } from './http-service.ts';

const SCOPE = { account: '111122223333', region: 'eu-central-1' } satisfies AwsScope;
const PEM = '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n';
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const never = new AbortController().signal;
const AUTHORITY: SimulatedEksAuthority = {
  id: 'ca-1',
  createdAt: Date.UTC(2018, 5, 5),
  activatedAt: Date.UTC(2018, 5, 5),
  notBefore: Date.UTC(2018, 5, 5),
  notAfter: Date.UTC(2028, 5, 5),
  data: base64(PEM),
};
const SUCCESSOR: SimulatedEksAuthority = {
  id: 'ca-2',
  createdAt: Date.UTC(2026, 5, 5),
  signingStatus: 'NOT_USED',
  distributionStatus: 'IN_PROGRESS',
  notBefore: Date.UTC(2026, 5, 5),
  notAfter: Date.UTC(2031, 5, 5),
  firstAutoActivation: Date.UTC(2027, 11, 5),
  finalAutoActivation: Date.UTC(2028, 3, 20),
};

describe('with an EKS', () => {
  let aws: SimulatedAws;
  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 10, 21)) });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const dublin = () => {
    const { credentials, ...config } = awsClientConfig(aws, SCOPE);
    return createEksAuditReader({ config, credentials: () => async () => credentials })(SCOPE, 'dublin');
  };
  const actions = () => aws.calls.map(({ action }) => action);

  it('reads the authorities that clients are given', async () => {
    aws.eks.putCluster(SCOPE, { name: 'dublin', certificateAuthority: base64(PEM + PEM) });
    expect(await dublin().certificateAuthority(never)).toBe(PEM + PEM);
  });

  it('reads each authority', async () => {
    aws.eks.putCluster(SCOPE, { name: 'dublin', authorities: [AUTHORITY, SUCCESSOR] });
    expect(await dublin().authorities(never)).toEqual([
      {
        id: 'ca-1',
        createdAt: Date.UTC(2018, 5, 5),
        notBefore: Date.UTC(2018, 5, 5),
        notAfter: Date.UTC(2028, 5, 5),
        signingStatus: 'IN_USE',
        distributionStatus: 'COMPLETE',
        certificate: PEM,
      },
      {
        id: 'ca-2',
        createdAt: Date.UTC(2026, 5, 5),
        notBefore: Date.UTC(2026, 5, 5),
        notAfter: Date.UTC(2031, 5, 5),
        signingStatus: 'NOT_USED',
        distributionStatus: 'IN_PROGRESS',
        firstAutoActivation: Date.UTC(2027, 11, 5),
        finalAutoActivation: Date.UTC(2028, 3, 20),
      },
    ]);
    expect(actions()).toEqual([
      'ListCertificateAuthorities',
      'DescribeCertificateAuthority',
      'DescribeCertificateAuthority',
    ]);
  });

  it('finds nothing where there is nothing', async () => {
    aws.eks.putCluster(SCOPE, { name: 'dublin' });
    expect(await dublin().authorities(never)).toEqual([]);
    expect(await awsFailure(dublin().certificateAuthority(never))).toMatchObject({
      kind: 'invalid',
      problem: 'the cluster has no CA yet',
    });
  });

  it('a cluster that is gone is not one without authorities', async () => {
    const read = dublin();
    for (const asked of [read.authorities(never), read.certificateAuthority(never)])
      expect(await awsFailure(asked)).toMatchObject({ kind: 'not-found' });
  });
});

async function reader(answer: (call: HttpCall) => HttpAnswer | undefined) {
  const eks = await startHttpService(answer);
  const { credentials, ...config } = eks.config;
  const read = createEksAuditReader({ config, credentials: () => async () => credentials })(SCOPE, 'dublin');
  return { eks, read, [Symbol.asyncDispose]: () => eks[Symbol.asyncDispose]() };
}

const described = {
  id: 'ca-1',
  createdAt: 1_528_156_800,
  signingStatus: 'IN_USE',
  distributionStatus: 'COMPLETE',
  validity: { notBefore: 1_528_156_800, notAfter: 1_843_776_000 },
};
const authoritiesWith = (change: object) => (call: HttpCall) =>
  call.path.endsWith('/certificate-authorities')
    ? json({ certificateAuthorities: [{ id: 'ca-1' }] })
    : json({ certificateAuthority: { ...described, ...change } });

describe('answers that cannot be', () => {
  it.each<[string, object]>([
    ['of another authority', { id: 'ca-2' }],
    ['without createdAt', { createdAt: null }],
    ['with a signing status that is none', { signingStatus: 'PERHAPS' }],
    ['with a distribution status that is none', { distributionStatus: undefined }],
    ['with a time before 1970', { validity: { notAfter: -1 } }],
    ['with a time after 9999', { scheduledEvents: { firstAutoActivation: 1e12 } }],
    ['with data that is not base64', { data: '-----BEGIN' }],
    ['with data that is large', { data: 'A'.repeat(70_000) }],
    ['with data that is no text', { data: { a: 1 } }],
  ])('an authority %s', async (_, change) => {
    await using run = await reader(authoritiesWith(change));
    const error = await awsFailure(run.read.authorities(never));
    expect(error.kind).toBe('invalid');
    expect(error.message.length).toBeLessThan(1_000);
  });

  it.each<[string, object]>([
    ['no list', {}],
    ['a list that is none', { certificateAuthorities: { id: 'ca-1' } }],
    ['an id that is none', { certificateAuthorities: [{ id: 'a b' }] }],
    ['no id', { certificateAuthorities: [{}] }],
    ['too many', { certificateAuthorities: Array.from({ length: 21 }, () => ({ id: 'a' })) }],
    ['pages without end', { certificateAuthorities: [], nextToken: 'again' }],
  ])('a list of authorities with %s', async (_, body) => {
    await using run = await reader(() => json(body));
    expect(await awsFailure(run.read.authorities(never))).toMatchObject({
      kind: 'invalid',
      object: 'eks:ListCertificateAuthorities dublin in 111122223333/eu-central-1',
    });
  });

  it.each<[string, object]>([
    ['of another cluster', { cluster: { name: 'paris', certificateAuthority: { data: base64(PEM) } } }],
    ['without a cluster', {}],
    ['with a bundle that is not base64', { cluster: { name: 'dublin', certificateAuthority: { data: PEM } } }],
  ])('a cluster: %s', async (_, body) => {
    await using run = await reader(() => json(body));
    expect(await awsFailure(run.read.certificateAuthority(never))).toMatchObject({ kind: 'invalid' });
  });
});

it('takes DER for the certificate of an authority too', async () => {
  const der = Buffer.concat([Buffer.from([0x30, 0x82]), Buffer.alloc(100, 7)]);
  await using run = await reader(authoritiesWith({ data: base64(der) }));
  const [authority] = await run.read.authorities(never);
  const lines = authority?.certificate?.trimEnd().split('\n') ?? [];
  expect(lines[0]).toBe('-----BEGIN CERTIFICATE-----');
  expect(lines.at(-1)).toBe('-----END CERTIFICATE-----');
  expect(Math.max(...lines.map(({ length }) => length))).toBe(64);
  expect(Buffer.from(lines.slice(1, -1).join(''), 'base64')).toEqual(der);
});

it('leaves out what was deleted since it was listed', async () => {
  await using run = await reader(({ path }) => {
    if (path.endsWith('/certificate-authorities')) return json({ certificateAuthorities: [{ id: 'a' }, { id: 'b' }] });
    if (path.endsWith('/b')) return jsonRefusal('ResourceNotFoundException', 404);
    return json({ certificateAuthority: { ...described, id: 'a' } });
  });
  expect((await run.read.authorities(never)).map(({ id }) => id)).toEqual(['a']);
});

it('reads every page, also when one is throttled', async () => {
  let refuse = true;
  await using run = await reader(({ path, query }) => {
    if (!path.endsWith('/certificate-authorities'))
      return json({ certificateAuthority: { ...described, id: path.split('/').at(-1) } });
    if (query.get('nextToken') === null) return json({ certificateAuthorities: [{ id: 'a' }], nextToken: 'n' });
    if (!refuse) return json({ certificateAuthorities: [{ id: 'b' }] });
    refuse = false;
    return jsonRefusal('ThrottlingException', 429);
  });
  expect((await run.read.authorities(never)).map(({ id }) => id)).toEqual(['a', 'b']);
});

describe('refusals', () => {
  it.each([
    [
      'AccessDeniedException',
      403,
      'denied',
      /Allow eks:ListCertificateAuthorities and eks:DescribeCertificateAuthority/,
    ],
    ['UnknownOperationException', 404, 'not-found', /in a Region without this API/],
    ['InvalidParameterException', 400, 'invalid', /in a Region without this API/],
  ])('%s', async (code, status, kind, remedy) => {
    await using run = await reader(() => jsonRefusal(code, status));
    expect(await awsFailure(run.read.authorities(never))).toMatchObject({
      kind,
      remedy: expect.stringMatching(remedy),
    });
  });

  it('ends with the signal when no answer comes', async () => {
    await using run = await reader(() => undefined);
    expect(await awsFailure(run.read.authorities(AbortSignal.timeout(30)))).toMatchObject({ kind: 'aborted' });
  });
});
