import { SNSClient } from '@aws-sdk/client-sns';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPublisher } from '../../../lambdas/aws/topics.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';
import { awsFailure } from './failure.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };
const never = new AbortController().signal;
const MESSAGE = {
  subject: '[critical] oslo: it ends',
  message: JSON.stringify({ default: 'for people', sqs: '{}' }),
  attributes: { severity: 'critical', cluster: 'oslo' },
};

describe('publish', () => {
  let aws: SimulatedAws;
  let sns: SNSClient;
  let topic: string;
  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
    sns = new SNSClient({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
    topic = aws.sns.createTopic(FRANKFURT, 'critical');
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  it('gives each protocol its text', async () => {
    await createPublisher({ topic }, sns)('topic', MESSAGE, never);
    expect(aws.sns.published).toEqual([
      {
        topicArn: topic,
        subject: MESSAGE.subject,
        texts: { default: 'for people', sqs: '{}' },
        attributes: MESSAGE.attributes,
      },
    ]);
  });

  it.each([
    ['a topic that is gone', 'arn:aws:sns:eu-central-1:111122223333:gone', MESSAGE, 'not-found'],
    ['a subject with a line break', undefined, { ...MESSAGE, subject: 'a\nBcc: b' }, 'invalid'],
    ['a subject of 100 characters', undefined, { ...MESSAGE, subject: 'x'.repeat(100) }, 'invalid'],
    ['no default', undefined, { ...MESSAGE, message: '{"sqs":"x"}' }, 'invalid'],
    ['too large', undefined, { ...MESSAGE, message: JSON.stringify({ default: 'x'.repeat(262_140) }) }, 'invalid'],
  ])('fails for %s', async (_, arn, message, kind) => {
    expect(await awsFailure(createPublisher({ topic: arn ?? topic }, sns)('topic', message, never))).toMatchObject({
      kind,
    });
    expect(aws.sns.published).toEqual([]);
  });

  it('says what is missing when it is denied', async () => {
    aws.deny('sns:Publish');
    const error = await awsFailure(createPublisher({ topic }, sns)('topic', MESSAGE, never));
    expect(error).toMatchObject({ kind: 'denied', object: 'sns:Publish to critical' });
  });
});
