import { startSimulatedApiServer } from '../fleet/api-server.ts';
import { fastClock } from '../fleet/clock.ts';
import { addMachine, grantedRules } from '../fleet/demo-cluster.ts';
import type { FaultRule } from '../fleet/faults.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';

// Many API servers over TLS in a process of their own, so that the one that sweeps them is measured alone. Prints one JSON line for each, and
// ends with its parent.
const [, , from = '0', count = '1', faulty = 'none'] = process.argv;

const LIST = /certificatesigningrequests\?/;
const FAULTS: readonly FaultRule[] = [
  { path: LIST, fault: { kind: 'hang' } },
  { path: LIST, fault: { kind: 'drip', millisecondsPerByte: 50 } },
  { path: LIST, fault: { kind: 'endless' } },
  { path: LIST, fault: { kind: 'status', code: 500 } },
];

process.stdin.on('end', () => process.exit(0)).resume();
for (let index = Number(from); index < Number(from) + Number(count); index += 1) {
  const name = `cluster-${index}`;
  const server = await startSimulatedApiServer({
    clock: fastClock(Date.now(), 1),
    name,
    users: [{ name: 'certmarshal', groups: ['certmarshal'], rules: grantedRules() }],
  });
  addMachine({ name, server }, { name: 'worker-1', dnsNames: ['worker-1'], ipAddresses: ['10.0.0.1'] });
  // Every fifth one misbehaves, each in its way.
  const fault = index % 5 === 0 ? FAULTS[(index / 5) % FAULTS.length] : undefined;
  if (faulty === 'faulty' && fault !== undefined) server.inject(fault);
  process.stdout.write(`${JSON.stringify({ name, kubeconfig: kubeconfigOf(server, 'certmarshal') })}\n`);
}
process.stdout.write('ready\n');
