import { describe, expect, it } from 'vitest';
import { BERLIN } from '../unit/approval/fixtures.ts';
import { ASLEEP, asked, judge, readingsOf, recoveryOf, worldOf } from '../unit/recovery/fixtures.ts';
import { controlPlaneMachine, etcdMachine, nodeOf, workerMachine } from './objects.ts';
import { type Born, ROWS } from './table.ts';

const NAME = BERLIN.name;
const born = (number: number): Born => ({ name: `${NAME}-${number}`, address: `10.0.1.${30 + number}` });

describe.each(ROWS)('on $row', ({ provider }) => {
  const of = { provider, name: NAME };
  const node = nodeOf(provider, born(1));
  const verdictOf = (...machines: readonly unknown[]) =>
    judge(
      asked({ node }),
      worldOf({
        recovery: recoveryOf({ nodes: [node] }),
        readings: readingsOf(...machines),
        liveness: new Map([[node, ASLEEP]]),
      }),
    ).reason;

  it.each(['v1beta2', 'v1beta1'] as const)('a control plane node that slept is known by its Machine, %s', (version) => {
    const machines = [1, 2, 3].map((number) => controlPlaneMachine({ ...of, version }, born(number)));
    expect(verdictOf(...machines, etcdMachine(of, born(4)))).toBe('Recovered');
  });

  it('neither a worker nor a machine of etcd gets a certificate', () => {
    expect(verdictOf(workerMachine(of, born(1)))).toBe('NotControlPlane');
    expect(verdictOf(etcdMachine(of, born(1)))).toBe('EvidenceMissing');
  });
});
