import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rolloutPlanCommand } from '../../../bin/commands/rollout/commands.ts';
import { planRollout } from '../../../lambdas/rollout/plan.ts';
import { DAY, HOUR, healthyRollout, machine, NAMESPACE, NOW } from '../rollout/fixtures.ts';
import { outcomeOf } from './io.ts';
import { OPTIONS, SUBJECT, scripted } from './rollouts.ts';

const PAGE = readFileSync(new URL('../../../docs/rollouts.md', import.meta.url), 'utf8');
/** A Wednesday afternoon: its maintenance window is not open. */
const WEDNESDAY = NOW - 3 * DAY + 12 * HOUR;

/** A control plane that manages itself, one machine of which is not well. */
const observed = healthyRollout({
  cluster: { id: 'berlin-prod', name: 'berlin-prod', managesItself: true },
  machines: [machine(1), machine(2, { unhealthy: ['EtcdMemberHealthy is False: no leader'] }), machine(3)],
  healthChecks: [{ namespace: NAMESPACE, name: 'berlin-prod-kcp-unhealthy', expected: 3, healthy: 2 }],
});

it('docs/rollouts.md shows the plan of a rollout as the command prints it', async () => {
  const { ports, ...streams } = scripted({ observed, columns: 120 });
  const options = { ...OPTIONS, repeat: ' --kubeconfig ~/.kube/config --cluster berlin-prod --fleet fleet.yaml' };
  const run = rolloutPlanCommand(SUBJECT, options, new AbortController().signal, {
    ...ports,
    clock: () => WEDNESDAY,
    plan: planRollout,
  });
  const { status, stdout } = await outcomeOf(streams, run);
  expect(status).toBe(0);
  expect(PAGE).toContain(`certmarshal rollout plan${options.repeat}\n\`\`\`\n\n\`\`\`text\n${stdout}\`\`\`\n`);
});
