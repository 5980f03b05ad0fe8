import type { V1CustomResourceDefinition } from '@kubernetes/client-node';
import { field, raw } from '../../resources/fields.ts';
import { caBundleSource } from '../ca-bundles.ts';
import { shownName } from '../objects.ts';

/** CA bundles with which kube-apiserver verifies conversion webhooks. */
export const crdConversions = caBundleSource('crd-conversions', ['customresourcedefinitions'], (object) => [
  {
    where: `CustomResourceDefinition ${shownName(object)} (conversion)`,
    caBundle: field(
      raw<V1CustomResourceDefinition>(object),
      'spec',
      'conversion',
      'webhook',
      'clientConfig',
      'caBundle',
    ),
    usedBy: {
      blocks: true,
      effect: 'its objects can be neither read nor written in another version than the stored one',
    },
  },
]);
