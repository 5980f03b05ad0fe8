import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';

import { billOf } from '../../../bin/commands/cost.ts';
import { fleetOf, stacksOf } from '../lib/stacks.ts';

describe('the bill and the stack', () => {
  const template = Template.fromStack(stacksOf(fleetOf()).hub);
  const count = (type: string) => Object.keys(template.findResources(type)).length;
  const { lines } = billOf(1_000, 0);
  const billed = (what: string) => lines.find((line) => line.what === what)?.quantity;
  const queries = Object.values(template.findResources('AWS::CloudWatch::Alarm')).filter(({ Properties }) =>
    JSON.stringify(Properties).includes('SELECT'),
  ).length;

  it.each([
    ['alarms on the hub', count('AWS::CloudWatch::Alarm') - queries],
    ['composite alarms', count('AWS::CloudWatch::CompositeAlarm')],
    ['dashboard', count('AWS::CloudWatch::Dashboard')],
    ['key of the topics', count('AWS::KMS::Key')],
  ])('agree on %s: %i', (what, deployed) => {
    expect(deployed).toBeGreaterThan(0);
    expect(billed(what)).toBe(deployed);
  });

  it('know the same buckets, queues and functions', () => {
    expect({
      functions: count('AWS::Lambda::Function'),
      queues: count('AWS::SQS::Queue'),
      buckets: count('AWS::S3::Bucket'),
      secrets: count('AWS::SecretsManager::Secret'),
      tables: count('AWS::DynamoDB::Table'),
      machines: count('AWS::StepFunctions::StateMachine'),
    }).toEqual({ functions: 4, queues: 3, buckets: 3, secrets: 0, tables: 0, machines: 0 });
  });
});
