import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { billOf, totalOf } from '../bench/cost/cost.ts';
import { fleetOf, stacksOf } from './lib/stacks.ts';

describe('docs/cost.md', () => {
  const page = readFileSync('docs/cost.md', 'utf8');

  it.each([10, 100, 1_000, 10_000])('has the figures of %i clusters', (clusters) => {
    const total = totalOf(clusters, 0.02);
    const [sum, each] = [Math.round(total).toLocaleString('en'), (total / clusters).toFixed(3)];
    expect(page).toContain(`| ${clusters.toLocaleString('en')} | $${sum} | $${each} |`);
  });

  it('has the sum of a flood of the webhook', () => {
    const quiet = totalOf(1_000, 0.02, 0) - totalOf(1_000, 0.02);
    const flood = totalOf(1_000, 0.02, 10_000) - totalOf(1_000, 0.02, 0);
    expect(page).toContain(`$${quiet.toFixed(2)} a month`);
    expect(page).toContain(`$${flood.toFixed(2)} a month, $${((flood / 730) * 24).toFixed(2)} a day`);
    expect(totalOf(1_000, 0.02, 1_000_000)).toBe(totalOf(1_000, 0.02, 20));
  });
});

describe('the bill and the stack', () => {
  const template = Template.fromStack(stacksOf(fleetOf()).hub);
  const count = (type: string) => Object.keys(template.findResources(type)).length;
  const queries = Object.values(template.findResources('AWS::CloudWatch::Alarm')).filter(({ Properties }) =>
    JSON.stringify(Properties).includes('SELECT'),
  ).length;

  it.each([
    ['CloudWatch, alarms on the hub', count('AWS::CloudWatch::Alarm') - queries],
    ['CloudWatch, composite alarms', count('AWS::CloudWatch::CompositeAlarm')],
    ['CloudWatch, dashboard', count('AWS::CloudWatch::Dashboard')],
    ['KMS, key of the topics', count('AWS::KMS::Key')],
  ])('agree on %s: %i', (what, deployed) => {
    expect(deployed).toBeGreaterThan(0);
    expect(billOf(1_000, 0).find((line) => line.what === what)?.quantity).toBe(deployed);
  });

  it('know the same buckets, queues and functions', () => {
    expect({
      functions: count('AWS::Lambda::Function'),
      queues: count('AWS::SQS::Queue'),
      buckets: count('AWS::S3::Bucket'),
      secrets: count('AWS::SecretsManager::Secret'),
      tables: count('AWS::DynamoDB::Table'),
      machines: count('AWS::StepFunctions::StateMachine'),
    }).toEqual({ functions: 4, queues: 1, buckets: 3, secrets: 0, tables: 0, machines: 1 });
  });
});
