import type { V1CustomResourceDefinition } from '@kubernetes/client-node';
import { listKind } from '../../kubernetes/list.ts';
import { field, raw } from '../../resources/fields.ts';
import type { AuditSource } from '../audit-source.ts';
import { collectCaBundles } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/**
 * CA bundles with which kube-apiserver verifies conversion webhooks: when one expires, no object of its kind can be
 * read.
 */
export const crdConversions: AuditSource = {
  id: 'crd-conversions',
  stage: 'second',
  deadlineMs: 10_000,
  off: () => undefined,
  async observe(context) {
    const bundles = collectCaBundles('crd-conversions', context);
    const { target, now, signal } = context;
    const reading = await readList(listKind(target.workload, 'customresourcedefinitions', { signal }), (item) =>
      bundles.add(
        `CustomResourceDefinition ${shownName(item)} (conversion)`,
        field(raw<V1CustomResourceDefinition>(item), 'spec', 'conversion', 'webhook', 'clientConfig', 'caBundle'),
        { blocks: true, effect: 'its objects can be neither read nor written in another version than the stored one' },
      ),
    );
    const told = { source: 'crd-conversions' as const, observedAt: new Date(now()).toISOString() };
    return { observations: [...bundles.observations, ...cutShort(told, reading)], count: reading.count };
  },
};
