import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { createTokenSigner } from '../../lambdas/aws/eks-token.ts';
import { tokenOf, urlOf } from '../unit/aws/authenticator.ts';
import { realComponents } from './real.ts';

const real = await realComponents('tokens before aws-iam-authenticator', 'tokenVerifier');

interface Question {
  readonly token: string;
  readonly clusterId: string;
  readonly partition: string;
  readonly region: string;
  /** The credentials that the STS behind the authenticator knows. */
  readonly identity: typeof IDENTITY;
}

interface Answer {
  readonly accepted: boolean;
  readonly arn?: string;
  readonly problem?: string;
}

const IDENTITY = {
  accessKeyId: 'ASIATESTTESTTESTTEST',
  secretAccessKey: randomBytes(30).toString('base64'),
  sessionToken: randomBytes(600).toString('base64'),
};
const REGION = 'eu-central-1';
const ID = 'dublin';

/** Asks the authenticator's own code (test/control-plane/token-verifier), in one run. */
async function verify(questions: readonly Question[]): Promise<readonly Answer[]> {
  const child = spawn(real.binaries.tokenVerifier, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(questions.map((question) => `${JSON.stringify(question)}\n`).join(''));
  const answers: Answer[] = [];
  for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line));
  return answers;
}

const question = (token: string, { clusterId = ID, partition = 'aws', region = REGION } = {}): Question => ({
  token,
  clusterId,
  partition,
  region,
  identity: IDENTITY,
});

const signAt = (now: number, identity: Partial<typeof IDENTITY> = {}) =>
  createTokenSigner({ credentials: async () => ({ ...IDENTITY, ...identity }), now: () => now });

describe.skipIf(real.missing)('aws-iam-authenticator', () => {
  it.each([
    [REGION, 'aws', ID],
    ['us-east-1', 'aws', 'a1b2c3d4-5678-90ab-cdef-111122223333'],
    ['cn-north-1', 'aws-cn', ID],
    ['us-gov-west-1', 'aws-us-gov', ID],
    ['us-iso-east-1', 'aws-iso', ID],
    ['us-isob-east-1', 'aws-iso-b', ID],
  ])('accepts a token for %s (%s)', async (region, partition, clusterId) => {
    const token = await signAt(Date.now())(clusterId, region);
    const [answer] = await verify([question(token, { clusterId, partition, region })]);
    expect(answer).toEqual({ accepted: true, arn: 'arn:aws:sts::111122223333:assumed-role/certmarshal-sweep/sweep' });
  });

  it('accepts a token until we renew it', async () => {
    const token = await signAt(Date.now() - 13 * 60_000)(ID, REGION);
    expect(await verify([question(token)])).toMatchObject([{ accepted: true }]);
  });

  it('refuses what is wrong with a token, each for its own reason', async () => {
    const token = await signAt(Date.now())(ID, REGION);
    const url = String(urlOf(token));
    const otherKey = { secretAccessKey: randomBytes(30).toString('base64') };
    const broken: readonly (readonly [problem: string, question: Question])[] = [
      ['X-Amz-Date parameter is expired', question(await signAt(Date.now() - 16 * 60_000)(ID, REGION))],
      ['X-Amz-Signature is not that of the identity', question(token, { clusterId: 'another' })],
      ['X-Amz-Signature is not that of the identity', question(await signAt(Date.now(), otherKey)(ID, REGION))],
      ['unexpected hostname', question(await signAt(Date.now())(ID, 'cn-north-1'))],
      ['did not sign the x-k8s-aws-id header', question(tokenOf(url.replace('%3Bx-k8s-aws-id', '')))],
      ['non-whitelisted query parameter', question(tokenOf(`${url}&x-id=GetCallerIdentity`))],
      ['query parameter with multiple values', question(tokenOf(`${url}&Action=GetCallerIdentity`))],
      ['unexpected path', question(tokenOf(url.replace('/?', '/path?')))],
      ['unexpected scheme', question(tokenOf(url.replace('https:', 'http:')))],
      ['illegal base64 data', question(`${token}=`)],
      ['missing expected "k8s-aws-v1." prefix', question(token.replace('k8s-aws-v1.', ''))],
      ['token is too large', question(`${token}${'A'.repeat(4096)}`)],
    ];
    const answers = await verify(broken.map(([, asked]) => asked));
    expect(answers).toEqual(
      broken.map(([problem]) => ({ accepted: false, problem: expect.stringContaining(problem) })),
    );
  });
});
