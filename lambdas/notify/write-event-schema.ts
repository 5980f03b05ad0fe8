import { writeFileSync } from 'node:fs';
import { eventJsonSchema } from '../contracts/event.ts';

// Run after a change of contracts/event.ts: npm run -s generate
const file = new URL('../../schema/event.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(eventJsonSchema(), null, 2)}\n`);
