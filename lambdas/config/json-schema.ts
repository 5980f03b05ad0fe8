import { z } from 'zod';
import { FleetFile } from './fleet-file.ts';

/** JSON Schema of `fleet.yaml`, as editors read it. Draft 7, because that is what YAML language servers support in full. */
export function fleetJsonSchema() {
  return z.toJSONSchema(FleetFile, { target: 'draft-7', io: 'input' });
}
