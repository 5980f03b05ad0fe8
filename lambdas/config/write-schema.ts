import { writeFileSync } from 'node:fs';
import { fleetJsonSchema } from './json-schema.ts';

// Run after a change of a section: npm run -s generate
const file = new URL('../../schema/fleet.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(fleetJsonSchema(), null, 2)}\n`);
