import type { Stack } from 'aws-cdk-lib/core';
import { modeWords } from '../lambdas/approval/policy.ts';
import type { Fleet } from '../lambdas/config/fleet.ts';

/**
 * The configuration is deployed beside the bundles, where a change only shows as a new hash. With one metadata entry
 * for each field, `cdk diff` shows the change: `Policy edge, mode: "enforce on eks-anywhere" to "observe on eks-anywhere"`.
 */
export function showInDiff(stack: Stack, fleet: Fleet): void {
  const show = (what: string, fields: object): void => {
    for (const [field, value] of Object.entries(fields))
      stack.addMetadata(`${what}, ${field}`, withoutFractions(value));
  };
  for (const [index, discovery] of fleet.discovery.entries()) show(`Discovery ${index + 1}`, discovery);
  for (const { name, workloadClusters, ...fields } of fleet.managementClusters) {
    show(`Management cluster ${name}`, fields);
    show(`Management cluster ${name}, workloadClusters`, workloadClusters);
  }
  for (const { id, ...fields } of fleet.clusters) show(`Cluster ${id}`, fields);
  for (const { name, ...fields } of fleet.lanes) show(`Lane ${name}`, fields);
  show('Hub', fleet.hub);
  show('Audit', fleet.audit);
  show('Monitoring', fleet.monitoring);
  show('Journal', fleet.journal);
  for (const { name, ...fields } of fleet.policies)
    show(`Policy ${name}`, { ...fields, mode: modeWords({ name, ...fields }) });
  const { clusters, ...rollouts } = fleet.rollouts;
  show('Rollouts', rollouts);
  for (const [index, policy] of clusters.entries()) show(`Rollouts ${index + 1}`, policy);
  for (const { cluster, ...fields } of fleet.recovery) show(`Recovery ${cluster}`, fields);
}

/** Fractions as text: the metadata of a template has integers only. Source: cfn-lint, rule E4002. */
function withoutFractions(value: unknown): unknown {
  if (value === undefined) return undefined;
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'number' && !Number.isInteger(part) ? String(part) : part,
    ),
  );
}
