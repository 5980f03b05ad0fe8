import type { V1LabelSelector, V1LabelSelectorRequirement } from '@kubernetes/client-node';
import { field, isJsonObject, list, type Raw, raw, text } from './fields.ts';
import { countAt, nameAt } from './values.ts';

const MAX_TERMS = 64;

export interface MachineHealthCheck {
  readonly namespace: string;
  readonly name: string;
  readonly expected?: number;
  readonly healthy?: number;
}

/**
 * A MachineHealthCheck, v1beta1 or v1beta2, if its selector selects one of these machines; undefined otherwise, or if
 * it is of another cluster. An invalid selector counts as selecting. Never throws.
 *
 * Source: Cluster API, `MachineHealthCheckSpec`; apimachinery, `LabelSelectorAsSelector`.
 *
 * @param machines of the control plane, as read
 */
export function readMachineHealthCheck(
  object: unknown,
  cluster: string,
  machines: readonly unknown[],
): MachineHealthCheck | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const of = text(object, 'spec', 'clusterName');
  if (of !== undefined && of !== cluster) return undefined;
  const selector = raw<V1LabelSelector>(field(object, 'spec', 'selector'));
  const selects = machines.some(
    (machine) =>
      text(machine, 'metadata', 'namespace') === namespace && matches(selector, field(machine, 'metadata', 'labels')),
  );
  if (!selects) return undefined;
  return {
    namespace,
    name,
    expected: countAt(object, 'status', 'expectedMachines'),
    healthy: countAt(object, 'status', 'currentHealthy'),
  };
}

function matches(selector: Raw<V1LabelSelector>, labels: unknown): boolean {
  const wanted = field(selector, 'matchLabels');
  const pairs = Object.entries(isJsonObject(wanted) ? wanted : {});
  const terms = list(selector, 'matchExpressions');
  if (pairs.length > MAX_TERMS || terms.length > MAX_TERMS) return true;
  return (
    pairs.every(([key, value]) => typeof value !== 'string' || field(labels, key) === value) &&
    terms.every((term) => holds(term, labels))
  );
}

function holds(term: Raw<V1LabelSelectorRequirement>, labels: unknown): boolean {
  const key = text(term, 'key');
  if (key === undefined) return true;
  const value = field(labels, key);
  const values = list(term, 'values');
  switch (text(term, 'operator') ?? '') {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return true;
  }
}
