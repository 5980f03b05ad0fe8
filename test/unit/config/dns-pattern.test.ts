import { describe, expect, it } from 'vitest';
import { dnsPatternProblem } from '../../../lambdas/config/sections/policies.ts';

describe('dnsPatternProblem', () => {
  it.each(['{node}', '{node}.corp.example.com', '{node}.Corp.example.com.', 'mgmt.{node}.corp.example.com'])(
    'accepts %s',
    (pattern) => {
      expect(dnsPatternProblem(pattern)).toBeUndefined();
    },
  );

  it.each([
    ['', 'has no {node}'],
    ['*.corp.example.com', 'has no {node}'],
    ['{Node}.corp.example.com', 'has no {node}'],
    ['worker.corp.example.com', 'has no {node}'],
    ['{node}0', 'next to other characters'],
    ['mgmt-{node}.corp.example.com', 'next to other characters'],
    ['{node}{node}', 'next to other characters'],
    ['{node}.*.example.com', 'is not a DNS name'],
    ['{node}..com', 'is not a DNS name'],
    ['{node}.-a.com', 'is not a DNS name'],
    ['{node}.{cluster}.com', 'is not a DNS name'],
    ['{node}.10', 'is not a DNS name'],
    ['{node}. com', 'is not a DNS name'],
    ['{node}.0.0.2', 'is not a DNS name'],
    ['{node}.0.0.2.', 'is not a DNS name'],
    [`{node}${'.abcdefgh'.repeat(28)}`, 'is not a DNS name'],
  ])('refuses %s', (pattern, problem) => {
    expect(dnsPatternProblem(pattern)).toContain(problem);
  });
});
