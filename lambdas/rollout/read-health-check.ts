import { field, list, text } from '../resources/fields.ts';
import { countAt, nameAt } from '../resources/values.ts';
import type { ObservedHealthCheck } from './observed.ts';

const MOST_TERMS = 64;

/**
 * A MachineHealthCheck, v1beta1 or v1beta2, where its selector selects one of these machines; undefined when it does not, or is of another cluster. A selector that
 * makes no sense here counts as selecting. Pure; never throws.
 *
 * Source: Cluster API, `MachineHealthCheckSpec`; apimachinery, `LabelSelectorAsSelector`.
 *
 * @param machines of the control plane, as they were read
 */
export function readHealthCheck(
  object: unknown,
  cluster: string,
  machines: readonly unknown[],
): ObservedHealthCheck | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const of = text(object, 'spec', 'clusterName');
  if (of !== undefined && of !== cluster) return undefined;
  const selector = field(object, 'spec', 'selector');
  const selects = machines.some(
    (machine) =>
      text(machine, 'metadata', 'namespace') === namespace && matches(selector, field(machine, 'metadata', 'labels')),
  );
  if (!selects) return undefined;
  const expected = countAt(object, 'status', 'expectedMachines');
  const healthy = countAt(object, 'status', 'currentHealthy');
  return {
    namespace,
    name,
    expected,
    healthy,
  };
}

function matches(selector: unknown, labels: unknown): boolean {
  const wanted = field(selector, 'matchLabels');
  const pairs = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  const terms = list(selector, 'matchExpressions');
  if (pairs.length > MOST_TERMS || terms.length > MOST_TERMS) return true;
  return (
    pairs.every(([key, value]) => typeof value !== 'string' || field(labels, key) === value) &&
    terms.every((term) => holds(term, labels))
  );
}

function holds(term: unknown, labels: unknown): boolean {
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
