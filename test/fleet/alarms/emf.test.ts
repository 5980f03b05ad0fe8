import { describe, expect, it } from 'vitest';
import { samplesOf } from './emf.ts';

const TIME = Date.UTC(2026, 0, 1);

function line(changed: object = {}, directive: object = {}, root: object = {}): string {
  return JSON.stringify({
    _aws: {
      Timestamp: TIME,
      CloudWatchMetrics: [
        {
          Namespace: 'certmarshal',
          Dimensions: [['service', 'Cluster']],
          Metrics: [{ Name: 'AuditAge', Unit: 'Seconds' }],
          ...directive,
        },
      ],
      ...changed,
    },
    service: 'report',
    Cluster: 'berlin',
    AuditAge: 60,
    ...root,
  });
}

describe('metrics in the output of a function', () => {
  it('are read from the lines that are records', () => {
    const output = ['START', '{"message":"outcomes folded"}', line(), 'not {', line({}, {}, { AuditAge: [1, 2] }), ''];
    expect(samplesOf(output.join('\n')).map(({ value, dimensions }) => [value, dimensions])).toEqual([
      [60, { service: 'report', Cluster: 'berlin' }],
      [1, { service: 'report', Cluster: 'berlin' }],
      [2, { service: 'report', Cluster: 'berlin' }],
    ]);
  });

  it('are published once for each set of dimensions, at the time of the record', () => {
    const text = line({}, { Dimensions: [['service'], ['service', 'Cluster'], []] });
    expect(samplesOf(text)).toHaveLength(3);
    expect(samplesOf(text)[0]).toEqual({
      namespace: 'certmarshal',
      name: 'AuditAge',
      dimensions: { service: 'report' },
      at: TIME,
      value: 60,
    });
    expect(samplesOf(text)[2]).toMatchObject({ dimensions: {} });
  });

  it.each([
    ['seconds for milliseconds', line({ Timestamp: TIME / 1_000 }), 'not in milliseconds'],
    ['no directive', line({ CloudWatchMetrics: [] }), 'CloudWatchMetrics'],
    ['no namespace', line({}, { Namespace: '' }), 'Namespace'],
    ['a namespace of AWS', line({}, { Namespace: 'AWS/Lambda' }), 'namespace'],
    ['no metric', line({}, { Metrics: [] }), 'Metrics'],
    [
      'more than 100 metrics',
      line({}, { Metrics: Array.from({ length: 101 }, () => ({ Name: 'AuditAge' })) }),
      'Metrics',
    ],
    [
      'more than 30 dimensions',
      line({}, { Dimensions: [Array.from({ length: 31 }, (_, i) => `d${i}`)] }),
      'dimensions',
    ],
    ['a dimension twice', line({}, { Dimensions: [['service', 'service']] }), 'twice'],
    ['a dimension without a value', line({}, {}, { Cluster: undefined }), 'dimension Cluster'],
    ['a dimension that is no text', line({}, {}, { Cluster: 1 }), 'dimension Cluster'],
    ['a dimension with a line break', line({}, {}, { Cluster: 'a\nb' }), 'ASCII'],
    ['a dimension that is not ASCII', line({}, {}, { Cluster: 'münchen' }), 'ASCII'],
    ['an unknown unit', line({}, { Metrics: [{ Name: 'AuditAge', Unit: 'Hours' }] }), 'unit Hours'],
    ['a value that is text', line({}, {}, { AuditAge: '60' }), 'AuditAge is not a number'],
    ['a value that is missing', line({}, {}, { AuditAge: undefined }), 'AuditAge is not a number'],
    ['no values', line({}, {}, { AuditAge: [] }), 'AuditAge'],
    ['more than 100 values', line({}, {}, { AuditAge: Array(101).fill(1) }), 'AuditAge'],
    ['a cut record', '{"_aws":{"Timestamp"', 'JSON'],
  ])('are refused with %s', (_what, text, message) => {
    expect(() => samplesOf(text)).toThrow(message);
  });
});
